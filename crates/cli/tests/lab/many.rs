//! The largest number of devices: how long they take, and the error of one more.

use std::{fmt::Write, fs, time::Instant};

use crate::{
    inventory::Inventory,
    machine::DEFAULT,
    shell::{run, run_far},
    takt::{apply, status, takt},
};

/// Devices in pairs, both ends here.
struct Devices(Vec<String>);

impl Devices {
    fn new(count: usize) -> Self {
        let pairs = (0..count / 2).map(|n| [format!("many{n}"), format!("other{n}")]);
        let pairs: Vec<[String; 2]> = pairs.collect();
        batch(pairs.iter().flat_map(|[one, other]| {
            [
                format!("link add {one} type veth peer name {other}"),
                format!("link set {one} up"),
                format!("link set {other} up"),
            ]
        }));
        Self(pairs.into_iter().flatten().collect())
    }

    /// Each of the first of them has flows.
    fn policy(&self, count: usize, rate: &str) -> String {
        self.0[..count]
            .iter()
            .fold(String::new(), |mut policy, device| {
                let _ = write!(
                    policy,
                    "[link.{device}]\nrate = \"{rate}\"\n[[link.{device}.class]]\nname = \"each\"\n\
                 rate = \"1mbit\"\nper_flow = true\nmatch = {{ proto = \"udp\" }}\n"
                );
                policy
            })
    }
}

impl Drop for Devices {
    fn drop(&mut self) {
        takt("revert");
        batch(
            self.0
                .iter()
                .step_by(2)
                .map(|one| format!("link del {one}")),
        );
    }
}

fn batch(lines: impl Iterator<Item = String>) {
    fs::write("/lab/batch", lines.collect::<Vec<_>>().join("\n")).unwrap();
    run("ip -batch /lab/batch").ok();
}

/// The limit of docs/links.md.
const LINKS_MAX: usize = 64;

#[test]
fn there_is_room_for_sixty_four_devices() {
    DEFAULT.alone().run(|| {
        let before = Inventory::take();
        let devices = Devices::new(LINKS_MAX + 2);
        let time = |count: usize, rate: &str| {
            let begin = Instant::now();
            apply(&devices.policy(count, rate)).ok();
            begin.elapsed()
        };
        let loading = time(1, "10mbit");
        let quarter = time(LINKS_MAX / 4, "10mbit");
        let all = time(LINKS_MAX, "10mbit");
        let again = time(LINKS_MAX, "20mbit");
        println!("loading {loading:?}, 15 more {quarter:?}, 48 more {all:?}, again {again:?}");
        let (links, code) = status();
        assert_eq!((links.len(), code), (LINKS_MAX, Some(0)));
        assert!(
            links
                .iter()
                .all(|link| link.attached && link.rate_bps == 20_000_000)
        );
        // Each costs as much as each did before.
        assert!(
            all < 2 * quarter * 48 / 15,
            "{quarter:?} for 15, {all:?} for 48"
        );

        // No host has more, so too many in one policy is the policy's error; with those of another
        // namespace it is the host's.
        apply(&devices.policy(LINKS_MAX + 1, "30mbit"))
            .says(&["65 links", "more than the 64 places"])
            .ends_with(2);
        fs::write("/lab/far.toml", "[link.lo]\nrate = \"30mbit\"\n").unwrap();
        run_far("takt apply /lab/far.toml")
            .says(&["64 devices"])
            .ends_with(1);
        assert!(status().0.iter().all(|link| link.rate_bps == 20_000_000));
        apply(&devices.policy(LINKS_MAX - 1, "20mbit"))
            .says(&["many31: updated", "other31: given back"])
            .ok();
        takt("revert").ok();
        drop(devices);
        before.assert_is_back();
    });
}
