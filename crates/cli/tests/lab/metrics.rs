//! `takt metrics`.

use std::{fs, os::unix::fs::PermissionsExt};

use crate::{
    machine::{DEFAULT, on_old_kernels},
    shell::run,
    takt::{apply, takt},
    wire::Wire,
};

const POLICY: &str = r#"
[link.near1]
rate = "100mbit"

[[link.near1.class]]
name = "stream"
rate = "10mbit"
match = { proto = "udp", dst_port = 5001 }
"#;

const FILE: &str = "/lab/takt.prom";

fn count_what_is_sent(wire: &Wire) {
    let none = takt("metrics").ok();
    assert!(none.ends_with("# EOF\n"), "{none}");
    apply(POLICY).ok();
    wire.assert_passes();
    takt("metrics")
        .says(&[
            "# UNIT takt_class_sent_bytes bytes",
            "takt_link_attached{device=\"near1\"",
            "takt_class_rate_bytes_per_second{device=\"near1\"",
        ])
        .ok();
    for _ in 0..2 {
        takt(&format!("metrics --file {FILE}")).ok();
    }
    let text = fs::read_to_string(FILE).unwrap();
    let sent = text.lines().filter_map(|line| {
        let rest = line.strip_prefix("takt_class_sent_packets_total{device=\"near1\"")?;
        rest.split_once("} ")?.1.parse::<u64>().ok()
    });
    assert!(sent.sum::<u64>() > 0, "{text}");
    let mode = fs::metadata(FILE).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o644);
    assert!(!run("ls /lab").ok().contains("takt-metrics"));
    takt("metrics --file /none/takt.prom").ends_with(1);
    takt("revert").ok();
}

#[test]
fn they_count_what_is_sent() {
    DEFAULT.run(|| count_what_is_sent(&Wire::new(1)));
}

#[test]
fn they_count_what_is_sent_on_old_kernels() {
    on_old_kernels(|| count_what_is_sent(&Wire::new(1)));
}
