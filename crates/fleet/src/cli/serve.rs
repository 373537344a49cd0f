//! `takt fleet serve`: a page for people and counters for Prometheus. It reads only.

mod metrics;

use std::{
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::json;
use takt_fleet::{
    http::{self, Answer, Limits},
    operator::{Error, Operator, View},
};
use tokio::{net::TcpListener, sync::Mutex};

use super::{args::Common, exit::Exit, fail, operator, print};

const PAGE: &str = include_str!("serve/page.html");
/// However many ask, the engine is asked this often at most.
const FRESH: Duration = Duration::from_secs(2);
const LIMITS: Limits = Limits {
    readers: 32,
    patience: Duration::from_secs(10),
};

/// The last look at the fleet.
struct Looker {
    operator: Operator,
    last: Option<(Instant, View)>,
}

impl Looker {
    async fn look(&mut self) -> Result<&View, Error> {
        let is_fresh = self
            .last
            .as_ref()
            .is_some_and(|(at, _)| at.elapsed() < FRESH);
        if !is_fresh {
            self.last = None;
        }
        let view = match self.last.take() {
            Some((at, view)) => (at, view),
            None => {
                let view = self.operator.view().await?;
                (Instant::now(), view)
            }
        };
        Ok(&self.last.insert(view).1)
    }
}

pub async fn run(common: &Common, listen: SocketAddr, once: bool) -> Result<Exit, Error> {
    let mut operator = operator(common, false).await?;
    if once {
        let view = operator.view().await?;
        let text = metrics::text(&view);
        print(common.output, &json!({ "metrics": text }), || text);
        return Ok(Exit::Done);
    }
    let listener = match TcpListener::bind(listen).await {
        Ok(listener) => listener,
        Err(error) => {
            let told = format!("{listen}: {error}");
            return Ok(fail(common.output, Exit::Failed, &told));
        }
    };
    let address = listener.local_addr().map_or(listen, |address| address);
    let value = json!({ "ok": true, "listen": address });
    print(common.output, &value, || {
        format!("http://{address}/ is a page, /metrics is for Prometheus\n")
    });
    let looker = Arc::new(Mutex::new(Looker {
        operator,
        last: None,
    }));
    let answered = move |path: String| {
        let looker = Arc::clone(&looker);
        async move { answer(&path, &looker).await }
    };
    http::serve(listener, LIMITS, answered).await;
    Ok(Exit::Done)
}

async fn answer(path: &str, looker: &Mutex<Looker>) -> Answer {
    match path {
        "/" => Answer::new("text/html; charset=utf-8", PAGE.to_owned()),
        "/metrics" | "/state.json" => {
            let mut looker = looker.lock().await;
            match looker.look().await {
                Err(error) => Answer {
                    status: "503 Service Unavailable",
                    kind: "text/plain; charset=utf-8",
                    body: format!("{error}\n"),
                },
                Ok(view) if path == "/metrics" => {
                    Answer::new(metrics::CONTENT_TYPE, metrics::text(view))
                }
                Ok(view) => {
                    let json = serde_json::to_string(view).unwrap_or_default();
                    Answer::new("application/json", json)
                }
            }
        }
        _ => Answer::error("404 Not Found"),
    }
}
