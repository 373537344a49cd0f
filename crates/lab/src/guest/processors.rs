//! Processors that take turns in virtual time.
//!
//! The emulator (QEMU before 8.1) ends a processor's turn when a timer is due, and calls the timer
//! in the next processor's turn, which ends with that. Two busy processors in a row would thus
//! leave the second one nothing. So the machine has twice as many as were asked for, and every
//! second one is offline.

use std::fs;
use std::path::PathBuf;

use super::{Doing, Result};

pub fn space() -> Result<()> {
    let switch = |number: u32| PathBuf::from(format!("/sys/devices/system/cpu/cpu{number}/online"));
    let odd = (1..).step_by(2).map(switch);
    for switch in odd.take_while(|switch| switch.exists()) {
        fs::write(&switch, "0").doing(|| format!("write {}", switch.display()))?;
    }
    Ok(())
}
