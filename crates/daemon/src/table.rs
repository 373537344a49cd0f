//! The registry's copy in the kernel, read by the qdisc.

use std::collections::BTreeMap;

use takt_host::{Error, Registrations};

use crate::registry::{Change, Registry};

/// The kernel's map that is up to date, if any.
#[derive(Debug, Default)]
pub(crate) struct Table {
    written: Option<u32>,
}

impl Table {
    /// Update the kernel's map from the registry. Links come and go: the current map is used,
    /// and a new map gets everything.
    pub fn follow(&mut self, registry: &mut Registry, now_ns: u64) -> Result<(), Error> {
        let before = self.written.take();
        let mut changes = registry.take_changes();
        let Some(kernel) = Registrations::open()? else {
            return Ok(());
        };
        if before != Some(kernel.id()) {
            registry.adopt(now_ns, kernel.all());
            registry.take_changes();
            changes = registry.all().collect();
        }
        write(&kernel, &changes, registry.len())?;
        self.written = Some(kernel.id());
        Ok(())
    }
}

/// Lookups stop at the count, so set the count before and after.
fn write(kernel: &Registrations, changes: &[Change], entries: usize) -> Result<(), Error> {
    // Of several changes of an entry, the last counts.
    let changes: BTreeMap<_, _> = changes.iter().copied().collect();
    if changes.is_empty() {
        return Ok(());
    }
    kernel.set_count(entries + changes.len())?;
    // Deletions first: they make room for additions.
    let (gone, kept): (Vec<_>, Vec<_>) = changes.iter().partition(|(_, change)| change.is_none());
    for (destination, registration) in gone.iter().chain(&kept) {
        kernel.write(destination, **registration)?;
    }
    kernel.set_count(entries)
}
