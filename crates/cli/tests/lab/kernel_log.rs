//! The kernel's log, by tests: a test that fails leaves its messages to no other.

use std::fs;

use crate::shell::run;

/// Before a test's name.
const BEGINS: &str = "takt test begins: ";

pub fn begin(test: &str) {
    fs::write("/dev/kmsg", format!("{BEGINS}{test}\n")).expect("root may write to it");
}

/// Since the test began.
pub fn of_this_test() -> String {
    let log = run("dmesg").ok();
    let of_it = log.rsplit_once(BEGINS).map_or(&*log, |(_, of_it)| of_it);
    of_it.to_owned()
}
