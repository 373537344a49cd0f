//! What libbpf has to say while it loads: kept, and shown only if it fails.

use std::sync::{Mutex, PoisonError};

use libbpf_rs::{PrintLevel, set_print};

static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// The verifier's verdict comes last; more than this is its way there.
const SHOWN_MAX: usize = 20;

/// Forget what was said and listen from now on.
pub(crate) fn begin() {
    LINES.lock().unwrap_or_else(PoisonError::into_inner).clear();
    set_print(Some((PrintLevel::Warn, |_, text| {
        let mut lines = LINES.lock().unwrap_or_else(PoisonError::into_inner);
        lines.extend(text.lines().map(str::to_owned));
    })));
}

/// The last lines that were said.
pub(crate) fn tail() -> String {
    let lines = LINES.lock().unwrap_or_else(PoisonError::into_inner);
    lines[lines.len().saturating_sub(SHOWN_MAX)..].join("\n")
}
