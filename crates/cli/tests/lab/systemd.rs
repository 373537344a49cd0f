//! A machine whose first process is systemd, and Takt's units in it.

use std::{fs, path::Path, thread, time::Duration};

use crate::{
    machine::has_systemd,
    shell::{Ran, run},
};

/// The script that becomes systemd, in the machine.
pub const FIRST: &str = "/add/first.sh";

/// The files of the machine for it.
pub const FILES: [&str; 3] = [
    concat!(env!("CARGO_MANIFEST_DIR"), "/tests/systemd/first.sh"),
    "/lib/systemd/systemd",
    "/usr/bin/systemctl",
];

const UNITS: [(&str, &str); 2] = [
    ("takt", include_str!("../../../../scripts/takt.service.in")),
    (
        "taktd",
        include_str!("../../../../scripts/taktd.service.in"),
    ),
];
const DIR: &str = "/etc/systemd/system";

pub fn systemctl(arguments: &str) -> Ran {
    run(&format!("systemctl {arguments}"))
}

/// The units as `make install` puts them, except that a test sees their failures and output.
pub fn install() {
    assert!(has_systemd());
    for (name, text) in UNITS {
        let unit = format!("{DIR}/{name}.service");
        if Path::new(&unit).exists() {
            return;
        }
        fs::write(unit, text.replace("@PREFIX@", "/usr")).unwrap();
        let beside = format!("{DIR}/{name}.service.d");
        fs::create_dir_all(&beside).unwrap();
        let said = said_by(name);
        let text = format!(
            "[Service]\nRestart=no\nStandardOutput=append:{said}\nStandardError=append:{said}\n"
        );
        fs::write(format!("{beside}/test.conf"), text).unwrap();
    }
    // It may still be starting.
    wait_until("systemd answers", || {
        systemctl("daemon-reload").status == Some(0)
    });
}

/// Where the output of a unit goes.
pub fn said_by(unit: &str) -> String {
    format!("/lab/{unit}.said")
}

#[track_caller]
pub fn start(unit: &str) {
    install();
    let ran = systemctl(&format!("start {unit}"));
    let said = fs::read_to_string(said_by(unit)).unwrap_or_default();
    assert_eq!(ran.status, Some(0), "{ran}\n{said}");
}

/// A property of a unit.
pub fn property(unit: &str, name: &str) -> String {
    let shown = systemctl(&format!("show -P {name} {unit}")).ok();
    shown.trim_end().to_owned()
}

#[track_caller]
pub fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    for _ in 0..500 {
        if is_so() {
            return;
        }
        thread::sleep(Duration::from_millis(20));
    }
    panic!("not so: {what}");
}
