//! libFuzzer's program for the target that TAKT_FUZZ names; `scripts/fuzz` builds and starts it.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use takt_fuzz::{TARGETS, Target};

static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let name = std::env::var("TAKT_FUZZ").unwrap_or_default();
    let found = TARGETS.into_iter().find(|target| target.name == name);
    found.expect("TAKT_FUZZ names a target")
});

fuzz_target!(|bytes: &[u8]| (TARGET.run)(bytes));
