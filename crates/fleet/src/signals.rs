//! The signals that end a program.

use tokio::signal::unix::{SignalKind, signal};

/// SIGTERM or SIGINT came.
pub async fn stopped() {
    let signals = [SignalKind::terminate(), SignalKind::interrupt()].map(signal);
    let [Ok(mut term), Ok(mut int)] = signals else {
        // They end the process then.
        return std::future::pending().await;
    };
    tokio::select! {
        _ = term.recv() => {}
        _ = int.recv() => {}
    }
}
