//! What Kubernetes' probes ask for: whether the loop goes on.

use std::{
    future::Future,
    io,
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use takt_fleet::http::{self, Answer, Limits};
use tokio::net::TcpListener;

/// A loop that has not come round for so long hangs.
const SILENT_MAX: Duration = Duration::from_secs(120);
const LIMITS: Limits = Limits {
    readers: 8,
    patience: Duration::from_secs(5),
};

/// The sign of life of a loop, and what it says of itself.
#[derive(Debug, Clone)]
pub struct Pulse {
    began: Instant,
    beat_ms: Arc<AtomicU64>,
    said: Arc<Mutex<String>>,
}

impl Default for Pulse {
    fn default() -> Self {
        Self {
            began: Instant::now(),
            beat_ms: Arc::default(),
            said: Arc::new(Mutex::new("{}".to_owned())),
        }
    }
}

impl Pulse {
    /// The loop came round.
    pub fn beat(&self) {
        let now_ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.beat_ms.store(now_ms, Ordering::Relaxed);
    }

    /// What `/status` answers, in JSON.
    pub fn say(&self, json: String) {
        if let Ok(mut said) = self.said.lock() {
            *said = json;
        }
    }

    /// What was said last.
    pub fn said(&self) -> String {
        let said = self.said.lock().map(|said| said.clone());
        said.unwrap_or_default()
    }

    fn is_alive(&self) -> bool {
        let beat = Duration::from_millis(self.beat_ms.load(Ordering::Relaxed));
        self.began.elapsed().saturating_sub(beat) < SILENT_MAX
    }

    fn answer(&self, path: &str) -> Answer {
        match path {
            "/healthz" if self.is_alive() => Answer::new("text/plain", "ok\n".to_owned()),
            "/healthz" => Answer::error("503 Service Unavailable"),
            "/status" => Answer::new("application/json", self.said()),
            _ => Answer::error("404 Not Found"),
        }
    }
}

/// Answers at this address, for as long as it is polled.
pub async fn serve(listen: SocketAddr, pulse: Pulse) -> io::Result<impl Future<Output = ()>> {
    let listener = TcpListener::bind(listen).await?;
    let answered = move |path: String| {
        let pulse = pulse.clone();
        async move { pulse.answer(&path) }
    };
    Ok(http::serve(listener, LIMITS, answered))
}
