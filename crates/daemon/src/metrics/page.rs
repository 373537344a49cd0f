//! What is at which path.

use std::time::{Duration, Instant};

use takt_metrics::{Format, of_host};
use tracing::debug;

use super::http::{Page, Status, answer, refusal};

/// Readers that come sooner get the same numbers: however many there are, the host is looked at
/// once in this time.
const FRESH: Duration = Duration::from_secs(1);

const HTML: &str = "<!DOCTYPE html><html lang=\"en\"><title>taktd</title><p>taktd: \
                    <a href=\"/metrics\">metrics</a></html>\n";

/// The last expositions, one for each format.
#[derive(Default)]
pub(super) struct Pages {
    openmetrics: Option<Looked>,
    text: Option<Looked>,
}

struct Looked {
    at: Instant,
    /// The error's text if the host could not be looked at.
    exposition: Result<String, String>,
}

impl Pages {
    pub fn answer(&mut self, page: &Page) -> Vec<u8> {
        match page.path.as_str() {
            "/metrics" => self.metrics(page),
            "/" => answer(Status::Ok, "text/html; charset=utf-8", HTML, page.is_head),
            _ => refusal(Status::NotFound),
        }
    }

    fn metrics(&mut self, page: &Page) -> Vec<u8> {
        let (looked, kind) = match page.format {
            Format::OpenMetrics => (
                &mut self.openmetrics,
                "application/openmetrics-text; version=1.0.0; charset=utf-8",
            ),
            Format::Text => (&mut self.text, "text/plain; version=0.0.4; charset=utf-8"),
        };
        if looked
            .as_ref()
            .is_none_or(|looked| looked.at.elapsed() >= FRESH)
        {
            *looked = Some(Looked {
                at: Instant::now(),
                exposition: of_host(page.format).map_err(|error| error.to_string()),
            });
        }
        match looked.as_ref().map(|looked| &looked.exposition) {
            Some(Ok(text)) => answer(Status::Ok, kind, text, page.is_head),
            Some(Err(problem)) => {
                debug!("metrics cannot be read: {problem}");
                let body = format!("{problem}\n");
                answer(
                    Status::Failed,
                    "text/plain; charset=utf-8",
                    &body,
                    page.is_head,
                )
            }
            None => refusal(Status::Failed),
        }
    }
}
