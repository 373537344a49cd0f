//! The queues of a device as sysfs shows them, and their limits.

use std::{
    fs,
    io::{self, ErrorKind},
    path::PathBuf,
};

use super::Change;
use crate::{
    error::Error,
    os::{
        OsError,
        sysfs::{Sysfs, read_number},
    },
};

/// The limit and the use of a device's transmit queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Queue {
    /// The maximum of the kernel's own limit.
    pub limit_max_bytes: u32,
    /// The limit that the kernel has found to be enough.
    pub limit_bytes: u32,
    pub inflight_bytes: u32,
}

impl Queue {
    /// The driver reports to the kernel what it sends. All queues have these files, but without
    /// reports the kernel never finds a limit.
    pub(crate) fn is_counted(&self) -> bool {
        self.limit_bytes > 0 || self.inflight_bytes > 0
    }
}

impl Sysfs {
    /// In the order of their numbers; empty if the device has no such limits.
    pub(crate) fn queues(&self, device: &str) -> Vec<Queue> {
        let read = |at| self.queue(device, at).ok();
        (0..).map_while(read).collect()
    }

    fn queue(&self, device: &str, at: usize) -> io::Result<Queue> {
        let dir = self.limits_of(device, at);
        Ok(Queue {
            limit_max_bytes: read_number(&dir.join("limit_max"))?,
            limit_bytes: read_number(&dir.join("limit"))?,
            inflight_bytes: read_number(&dir.join("inflight"))?,
        })
    }

    /// A queue that is gone needs no limit.
    pub(crate) fn change(&self, device: &str, changes: &[Change]) -> Result<(), Error> {
        for change in changes {
            let path = self.limits_of(device, change.queue).join("limit_max");
            match fs::write(&path, change.limit_bytes.to_string()) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(OsError::file(&path)(error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn limits_of(&self, device: &str, queue: usize) -> PathBuf {
        let queues = self.device(device).join("queues");
        queues.join(format!("tx-{queue}/byte_queue_limits"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_are_read_and_limited() {
        let root = tempfile::tempdir().unwrap();
        for queue in 0..2 {
            let dir = root.path().join(format!(
                "class/net/eth0/queues/tx-{queue}/byte_queue_limits"
            ));
            fs::create_dir_all(&dir).unwrap();
            for (name, text) in [
                ("limit_max", "5000\n"),
                ("limit", "0\n"),
                ("inflight", "7\n"),
            ] {
                fs::write(dir.join(name), text).unwrap();
            }
        }
        let sysfs = Sysfs::at(root.path());
        let found = Queue {
            limit_max_bytes: 5000,
            limit_bytes: 0,
            inflight_bytes: 7,
        };
        assert_eq!(sysfs.queues("eth0"), [found, found]);
        assert!(found.is_counted());
        assert_eq!(sysfs.queues("eth1"), []);

        let changes = [1, 2].map(|queue| Change {
            queue,
            limit_bytes: 1513,
        });
        sysfs.change("eth0", &changes).unwrap();
        let limits: Vec<u32> = sysfs
            .queues("eth0")
            .iter()
            .map(|q| q.limit_max_bytes)
            .collect();
        assert_eq!(limits, [5000, 1513]);
    }
}
