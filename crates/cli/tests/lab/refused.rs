//! A host that is short of room: takt says so and changes nothing, and can be reverted.

use std::fs;

use crate::{
    buffer::SLOW,
    crowd::congestion,
    inventory::Inventory,
    machine::DEFAULT,
    metronome::state,
    shell::run,
    takt::{apply, status, takt},
    wire::Wire,
};

pub const OLD: &str = "[link.near1]\nrate = \"100mbit\"\n";
pub const ALL: &str = r#"
[link.near1]
rate = "200mbit"

[[task]]
name = "beat"
period = "20ms"
budget = "1ms"

[crowd]
group = "lab"
key_file = "/lab/crowd.key"
device = "near1"

[radio]
links = ["near1"]
"#;

const DISK: &str = "/lab/disk";
const RECORDS: &str = "/run/takt";

/// The directory of takt's records, with room for few files.
struct SmallDisk;

impl SmallDisk {
    fn mount() -> Self {
        fs::create_dir(DISK).unwrap();
        run(&format!("mount -t tmpfs -o nr_inodes=64 none {DISK}")).ok();
        let records = format!("{DISK}/takt");
        for path in [&records, RECORDS] {
            fs::create_dir(path).unwrap();
        }
        run(&format!("mount --bind {records} {RECORDS}")).ok();
        Self
    }

    /// There is room for so many more.
    fn leave(&self, room: usize) {
        let file = |n: usize| format!("{DISK}/{n}");
        let count = (0..).find(|n| fs::write(file(*n), "").is_err()).unwrap();
        for n in count.saturating_sub(room)..count {
            fs::remove_file(file(n)).unwrap();
        }
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        run(&format!("umount {RECORDS}"));
        run(&format!("umount {DISK}"));
        run(&format!("rmdir {RECORDS} {DISK}"));
    }
}

/// All is in force but the last step, which can no longer succeed.
#[test]
fn queues_that_cannot_be_limited_have_no_plan_either() {
    DEFAULT.alone().run(|| {
        run("ip link add near9 mtu 1500 type ifb").ok();
        run("ip link set near9 up").ok();
        let nothing = Inventory::take();
        for first in [
            None,
            Some("[link.near9]\nrate = \"100mbit\"\npackets = \"gso\"\n"),
        ] {
            first.map(|policy| apply(policy).ok());
            let before = Inventory::take();
            run("mount -o remount,ro /sys").ok();
            apply(SLOW)
                .says(&["limit_max: Read-only file system", "host::file"])
                .ends_with(1);
            run("mount -o remount,rw /sys").ok();
            before.assert_is_back();
            let rates: Vec<u64> = status().0.iter().map(|link| link.rate_bps).collect();
            assert_eq!(rates, first.map_or(vec![], |_| vec![100_000_000]));
            apply(SLOW).ok();
            takt("revert").ok();
        }
        nothing.assert_is_back();
        run("ip link del near9").ok();
    });
}

/// A mount that nothing can be written to, until this is dropped.
struct ReadOnly(&'static str);

impl ReadOnly {
    fn mount(mount: &'static str) -> Self {
        run(&format!("mount -o remount,ro {mount}")).ok();
        Self(mount)
    }
}

impl Drop for ReadOnly {
    fn drop(&mut self) {
        run(&format!("mount -o remount,rw {}", self.0));
    }
}

#[test]
fn file_systems_that_are_read_only_are_named() {
    DEFAULT.alone().run(|| {
        let wire = Wire::new(1);
        let nothing = Inventory::take();
        for first in [None, Some(OLD)] {
            first.map(|policy| apply(policy).ok());
            let before = Inventory::take();
            for mount in ["/sys/fs/bpf", "/run"] {
                let read_only = ReadOnly::mount(mount);
                let says = [&*format!("remount,rw {mount}"), "host::lacking"];
                apply("[link.near1]\nrate = \"50mbit\"\n")
                    .says(&says)
                    .ends_with(3);
                if first.is_some() {
                    takt("revert").says(&says).ends_with(3);
                }
                wire.assert_passes();
                let rates: Vec<u64> = status().0.iter().map(|link| link.rate_bps).collect();
                assert_eq!(rates, first.map_or(vec![], |_| vec![100_000_000]));
                drop(read_only);
                before.assert_is_back();
            }
            takt("revert").ok();
        }
        nothing.assert_is_back();
    });
}

#[test]
fn what_fails_half_way_is_taken_back() {
    DEFAULT.alone().run(|| {
        let nothing = Inventory::take();
        let wire = Wire::new(1);
        run("takt crowd key /lab/crowd.key");
        let disk = SmallDisk::mount();
        apply(OLD).ok();
        let before = Inventory::take();
        let mut failed = 0;
        for room in 0.. {
            disk.leave(room);
            let applied = apply(ALL);
            if applied.status == Some(0) {
                break;
            }
            applied.says(&["No space left on device"]).ends_with(1);
            failed += 1;
            assert_eq!(status().0[0].rate_bps, 100_000_000);
            assert_eq!(state(), "disabled");
            assert_eq!(congestion(), "cubic");
            wire.assert_passes();
            before.assert_is_back();
        }
        assert!(failed > 3, "{failed}");
        assert_eq!(state(), "enabled");
        assert_eq!(congestion(), "takt");
        assert_eq!(status().0[0].rate_bps, 200_000_000);
        apply(OLD).ok();
        before.assert_is_back();
        drop(disk);
        drop(wire);
        nothing.assert_is_back();
    });
}

#[test]
fn a_full_disk_keeps_nobody_from_reverting() {
    DEFAULT.alone().run(|| {
        let wire = Wire::new(1);
        let before = Inventory::take();
        let disk = SmallDisk::mount();
        apply(OLD).ok();
        disk.leave(0);
        apply(&OLD.replace("100mbit", "200mbit"))
            .says(&["No space left on device"])
            .ends_with(1);
        assert_eq!(status().0[0].rate_bps, 100_000_000);
        wire.assert_passes();
        // The mount itself cannot be removed, and is left.
        takt("revert").says(&["near1: given back"]).ok();
        assert!(wire.root_qdisc().starts_with("qdisc noqueue"));
        drop(disk);
        takt("revert").says(&["nothing to revert"]).ok();
        before.assert_is_back();
    });
}
