//! What libbpf logs while it loads: kept, and shown only if loading fails.

use std::sync::{Mutex, PoisonError};

use libbpf_rs::{PrintLevel, set_print};

static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// The verifier's verdict comes last; older output is dropped.
const SHOWN_MAX: usize = 20;

/// Clear the log and collect from now on.
pub(crate) fn begin() {
    LINES.lock().unwrap_or_else(PoisonError::into_inner).clear();
    set_print(Some((PrintLevel::Warn, |_, text| {
        let mut lines = LINES.lock().unwrap_or_else(PoisonError::into_inner);
        lines.extend(text.lines().map(str::to_owned));
    })));
}

/// The last lines of the log.
pub(crate) fn tail() -> String {
    let lines = LINES.lock().unwrap_or_else(PoisonError::into_inner);
    lines[lines.len().saturating_sub(SHOWN_MAX)..].join("\n")
}
