//! A recording of flows: it is refused, or comes back as it was written and can be drawn.

use takt_flows::Recording;
use takt_report::flows_page;

/// The most samples and flows that `takt flows plot` draws.
const DRAWN_MAX: usize = 100;

pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let Ok(recording) = Recording::parse(text) else {
        return;
    };
    let again = Recording::from_parsed(recording.lines());
    assert_eq!(again.ok().as_ref(), Some(&recording));
    let _ = recording.span_ns();
    let drawn = recording.heaviest(DRAWN_MAX).thinned(DRAWN_MAX);
    let _ = flows_page("any.flows", &drawn);
}
