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

const UNITS: [(&str, &str); 4] = [
    (
        "takt.service",
        include_str!("../../../../scripts/takt.service.in"),
    ),
    (
        "taktd.service",
        include_str!("../../../../scripts/taktd.service.in"),
    ),
    (
        "taktd.socket",
        include_str!("../../../../scripts/taktd.socket.in"),
    ),
    (
        "taktd-root.socket",
        include_str!("../../../../scripts/taktd-root.socket.in"),
    ),
];
/// Where clients' connections wait for taktd.
pub const SOCKETS: &str = "taktd.socket taktd-root.socket";
const DIR: &str = "/etc/systemd/system";

pub fn systemctl(arguments: &str) -> Ran {
    run(&format!("systemctl {arguments}"))
}

/// The units as `make install` puts them, except that a test sees their failures and output.
pub fn install() {
    assert!(has_systemd());
    for (name, text) in UNITS {
        let unit = format!("{DIR}/{name}");
        if Path::new(&unit).exists() {
            return;
        }
        fs::write(unit, text.replace("@PREFIX@", "/usr")).unwrap();
        if let Some(service) = name.strip_suffix(".service") {
            let said = said_by(service);
            change(
                service,
                "test",
                &format!("Restart=no\nStandardOutput=append:{said}\nStandardError=append:{said}\n"),
            );
        }
    }
    // It may still be starting.
    wait_until("systemd answers", || {
        systemctl("daemon-reload").status == Some(0)
    });
}

/// Change a service by a file beside its unit.
pub fn change(service: &str, name: &str, text: &str) {
    let beside = format!("{DIR}/{service}.service.d");
    fs::create_dir_all(&beside).unwrap();
    fs::write(
        format!("{beside}/{name}.conf"),
        format!("[Service]\n{text}"),
    )
    .unwrap();
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
