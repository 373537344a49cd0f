//! The cables outside the machine: a device's packets come by interrupts, at times that depend on
//! nothing that runs here.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use super::clock::sleep_until;
use super::program::set_class;
use super::script::{Class, Window};
use crate::experiment::command;
use crate::experiment::error::{ExperimentError, Result};
use crate::experiment::napi;
use crate::experiment::pair::{A, B};
use crate::guest::FAR_DEVICES;

/// The device beside the beats.
const NEAR: &str = "oa";
const INTERRUPTS: &str = "/proc/interrupts";

/// The near device's addresses, one for each far device.
pub fn receivers() -> Vec<Ipv4Addr> {
    (1..)
        .take(FAR_DEVICES)
        .map(|far| Ipv4Addr::new(10, 0, far, 1))
        .collect()
}

/// Has threads process the packets of all these devices, or the softirq of their interrupts.
pub fn set_threaded(threaded: bool) -> Result<()> {
    let value = u8::from(threaded);
    let line =
        format!("for one in /sys/class/net/o*/threaded; do echo {value} > $one || exit; done");
    for namespace in [A, B] {
        // It mounts the namespace's own sysfs.
        command::run("ip", &["netns", "exec", namespace.0, "sh", "-c", &line])?;
    }
    Ok(())
}

/// Puts the threads of all these devices into a class.
pub fn rank_threads(class: Class) -> Result<()> {
    let far = (1..=FAR_DEVICES).map(|far| format!("ob{far}"));
    for device in far.chain([NEAR.to_owned()]) {
        for thread in napi::threads(&device)? {
            set_class(thread, class)?;
        }
    }
    Ok(())
}

/// The interrupt of the near device for packets that have come.
pub struct Interrupt {
    /// Its count for each processor. Unlike with `/proc/interrupts`, reading it delays nothing.
    counts: PathBuf,
}

impl Interrupt {
    pub fn find() -> Result<Self> {
        let device = PathBuf::from(format!("/sys/class/net/{NEAR}/device"));
        let driver = std::fs::read_link(&device).map_err(|error| unreadable(&device, error))?;
        let driver = driver.file_name().unwrap_or_default().to_string_lossy();
        let table = std::fs::read_to_string(INTERRUPTS)
            .map_err(|error| unreadable(Path::new(INTERRUPTS), error))?;
        let action = format!("{driver}-input.0");
        let number = number_of(&table, &action)
            .ok_or_else(|| unreadable(Path::new(INTERRUPTS), format!("no {action} in it")))?;
        Ok(Self {
            counts: format!("/sys/kernel/irq/{number}/per_cpu_count").into(),
        })
    }

    /// How many come from the window's begin to its end; waits for both.
    pub fn count_within(&self, window: Window) -> Result<u64> {
        sleep_until(window.begin_ns);
        let before = self.count()?;
        sleep_until(window.end_ns);
        Ok(self.count()?.saturating_sub(before))
    }

    fn count(&self) -> Result<u64> {
        let counts = std::fs::read_to_string(&self.counts)
            .map_err(|error| unreadable(&self.counts, error))?;
        sum(&counts).ok_or_else(|| unreadable(&self.counts, "no numbers in it"))
    }
}

/// The number of the interrupt with this action.
fn number_of(interrupts: &str, action: &str) -> Option<u32> {
    let line = interrupts
        .lines()
        .find(|line| line.split_whitespace().last() == Some(action))?;
    line.split_once(':')?.0.trim().parse().ok()
}

/// Of numbers with commas between them.
fn sum(counts: &str) -> Option<u64> {
    let counts = counts.trim().split(',').map(|count| count.parse::<u64>());
    counts.sum::<std::result::Result<_, _>>().ok()
}

fn unreadable(path: &Path, reason: impl ToString) -> ExperimentError {
    ExperimentError::Unreadable {
        path: path.to_owned(),
        reason: reason.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupt_is_found_by_its_action() {
        let table = "           CPU0\n  0:   46  IO-APIC   2-edge      timer\n                      27:    3 PCI-MSIX-0000:00:03.0   1-edge      virtio1-input.0\n                      30:    0 PCI-MSIX-0000:00:04.0   1-edge      virtio2-input.0\n                     LOC:  464   Local timer interrupts\n";
        assert_eq!(number_of(table, "virtio1-input.0"), Some(27));
        assert_eq!(number_of(table, "virtio2-input.0"), Some(30));
        assert_eq!(number_of(table, "virtio1-input"), None);
        assert_eq!(number_of(table, "interrupts"), None);
    }

    #[test]
    fn counts_are_summed_over_processors() {
        assert_eq!(sum("3\n"), Some(3));
        assert_eq!(sum("3,4\n"), Some(7));
        assert_eq!(sum(""), None);
    }
}
