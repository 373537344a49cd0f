//! What is left of a policy after `takt revert`.

use std::fs;
use std::path::Path;

use super::example::Example;
use crate::experiment::command;
use crate::experiment::error::{ExperimentError, Result};
use crate::experiment::pair::A;

const PINS: &str = "/sys/fs/bpf";
const RECORDS: &str = "/run/takt";

/// Qdiscs on the links' devices, pins, and records.
pub fn count(example: &Example) -> Result<usize> {
    let mut left = pins()? + usize::from(Path::new(RECORDS).exists());
    for device in example.devices() {
        let shown = A.run(|| command::run("tc", &["qdisc", "show", "dev", device]))?;
        left += qdiscs(&shown);
    }
    Ok(left)
}

fn pins() -> Result<usize> {
    let unreadable = |error: std::io::Error| ExperimentError::Unreadable {
        path: PINS.into(),
        reason: error.to_string(),
    };
    let mut pins = 0;
    for pin in fs::read_dir(PINS).map_err(unreadable)? {
        let name = pin.map_err(unreadable)?.file_name();
        // The kernel's own.
        pins += usize::from(!name.to_string_lossy().ends_with(".debug"));
    }
    Ok(pins)
}

/// Without takt the devices have none.
fn qdiscs(shown: &str) -> usize {
    let of_somebody = |line: &&str| !line.starts_with("qdisc noqueue ");
    shown.lines().filter(of_somebody).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_of_its_own_has_no_qdisc() {
        assert_eq!(qdiscs("qdisc noqueue 0: root refcnt 2 \n"), 0);
        assert_eq!(
            qdiscs("qdisc htb 7a80: root refcnt 2\nqdisc fq_codel 7a81: parent 7a80:1\n"),
            2
        );
    }
}
