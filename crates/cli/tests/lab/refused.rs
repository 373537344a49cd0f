//! A host that is short of room: takt says so and changes nothing, and can be taken out.

use std::fs;

use crate::{
    inventory::Inventory,
    machine::DEFAULT,
    shell::run,
    takt::{apply, status, takt},
    wire::Wire,
};

const OLD: &str = "[link.near1]\nrate = \"100mbit\"\n";

#[test]
fn a_full_disk_keeps_nobody_from_reverting() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        let before = Inventory::take();
        let (records, inodes) = ("/run/takt", 8);
        fs::create_dir(records).unwrap();
        run(&format!(
            "mount -t tmpfs -o nr_inodes={inodes} none {records}"
        ))
        .ok();
        apply(OLD).ok();
        let fill = |n: u32| fs::write(format!("{records}/{n}"), "").is_ok();
        (0..).find(|n| !fill(*n));
        apply(&OLD.replace("100mbit", "200mbit"))
            .says(&["No space left on device"])
            .ends_with(1);
        assert_eq!(status().0[0].rate_bps, 100_000_000);
        wire.assert_passes();
        // The mount itself cannot be taken away.
        takt("revert").says(&["busy"]).ends_with(1);
        assert!(wire.root_qdisc().starts_with("qdisc noqueue"));
        run(&format!("umount {records}")).ok();
        takt("revert").says(&["nothing to revert"]).ok();
        before.assert_is_back();
    });
}
