//! All parts of takt at once, and hosts that change meanwhile: nothing remains, and no packet is
//! lost unless a limit drops it.

use std::{
    fs,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    thread,
};

use nix::sys::signal::Signal;

use crate::{
    daemon::Daemon,
    flow::Flow,
    inventory::Inventory,
    machine::DEFAULT,
    metronome::{MS, US, assert_on_beat, member, sleep_ms, spin},
    over::Over,
    rounds,
    shell::{run, run_far},
    takt::{apply, assert_no_trace, link, takt},
    wire::Wire,
};

pub const EVERYTHING: &str = r#"
[link.near1]
rate = "200mbit"

[[link.near1.class]]
name = "stream"
rate = "2mbit"
per_flow = true
match = { proto = "udp", dst_port = 5001 }

[[link.near1.class]]
name = "backup"
priority = "background"
match = { proto = "udp", dst_port = 5002 }

[link.near2]
rate = "50mbit"

[radio]
links = ["near2"]

[[task]]
name = "beat"
period = "10ms"
budget = "2ms"
offset = "1ms"
"#;

/// Sends a packet every few milliseconds while `work` runs; returns the lost ones.
pub fn lost_during(wire: &Wire, port: u16, work: impl FnOnce()) -> Vec<u32> {
    let mut flow = Flow::new(wire, port);
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        let sending = scope.spawn(|| {
            let mut sent = 0;
            while !is_done.load(Relaxed) {
                flow.send(1, 200);
                sent += 1;
                sleep_ms(3);
            }
            (flow, sent)
        });
        let over = Over(&is_done);
        work();
        drop(over);
        let (flow, sent) = sending.join().unwrap();
        let arrived = flow.arrivals();
        assert!(arrived.is_sorted(), "{arrived:?}");
        (0..sent)
            .filter(|number| arrived.binary_search(number).is_err())
            .collect()
    })
}

/// While a qdisc comes or goes, the kernel drops packets for its device, with any qdisc
/// (docs/coexistence.md). That takes much less time than passes between two packets.
#[track_caller]
pub fn assert_only_exchanges_lost(lost: &[u32], exchanges: usize) {
    assert!(lost.len() <= 1 + exchanges / 20, "{lost:?}");
    assert!(
        lost.windows(2).all(|pair| pair[1] > pair[0] + 1),
        "{lost:?}"
    );
}

#[test]
fn the_clock_is_set_while_all_of_it_runs() {
    DEFAULT.alone().run(|| {
        let before = Inventory::take();
        let wires = [1, 2].map(Wire::new);
        let daemon = Daemon::start();
        apply(EVERYTHING).ok();
        takt("background add 10.1.0.2:873 --for 2h").ok();
        let beats = member("beat", 100, |_| spin(500 * US));
        let lost = lost_during(&wires[0], 5001, || {
            for days in [1, -2, 1] {
                step_clock(days);
                sleep_ms(300);
            }
        });
        assert!(lost.is_empty(), "{lost:?}");
        assert_on_beat(&beats.join().unwrap(), 10 * MS, MS);
        takt("background list").says(&["10.1.0.2:873"]).ok();
        takt("revert").ok();
        daemon.ends_with(Signal::SIGTERM);
        drop(wires);
        before.assert_is_back();
    });
}

/// Links, tasks and a crowd in turn and from nothing; then a link alone, while a similar one at the
/// far end keeps the programs loaded: loading them takes the emulator seconds.
#[test]
fn a_hundred_policies_come_and_go_under_load() {
    DEFAULT.alone().run(|| {
        let before = Inventory::take();
        let wires = [1, 2].map(Wire::new);
        run("takt crowd key /lab/hundred.key").ok();
        let (links, tasks) = EVERYTHING.split_at(EVERYTHING.find("[radio]").unwrap());
        let link = &links[..links
            .find("\n[[link.near1.class]]\nname = \"backup\"")
            .unwrap()];
        let tasks = &tasks[tasks.find("[[task]]").unwrap()..];
        let crowd =
            "[crowd]\ngroup = \"lab\"\nkey_file = \"/lab/hundred.key\"\ndevice = \"near1\"\n";
        let comes_and_goes = |policy: &str| {
            apply(policy).ok();
            takt("revert").ok();
        };
        let lost = lost_during(&wires[0], 5001, || {
            let kinds = [links, tasks, crowd].repeat(4);
            rounds::in_turn("policies from nothing", kinds, 4)
                .into_iter()
                .for_each(comes_and_goes);
            fs::write("/lab/far.toml", link.replace("near1", "far2")).unwrap();
            run_far("takt apply /lab/far.toml").ok();
            rounds::in_turn("policies that come and go", [link; 88], 4)
                .into_iter()
                .for_each(comes_and_goes);
            run_far("takt revert").ok();
        });
        assert_only_exchanges_lost(&lost, 200);
        assert_no_trace();
        drop(wires);
        before.assert_is_back();
    });
}

fn step_clock(days: i64) {
    let now: i64 = run("date +%s").ok().trim().parse().unwrap();
    run(&format!("date -s @{}", now + days * 86400)).ok();
}

#[test]
fn devices_are_renamed_moved_and_taken_away() {
    DEFAULT.alone().run(|| {
        let before = Inventory::take();
        let wires = [1, 2].map(Wire::new);
        apply(EVERYTHING).ok();
        run("ip link set near1 down").ok();
        run("ip link set near1 name else1").ok();
        apply(&EVERYTHING.replace("near1", "else1"))
            .says(&["else1: updated"])
            .ok();
        assert!(link("else1").attached);
        run("ip netns add elsewhere").ok();
        run("ip link set else1 netns elsewhere").ok();
        run("ip link del near2").ok();
        takt("status").says(&["the device is gone"]).ends_with(4);
        takt("revert").ok();
        run("ip netns del elsewhere").ok();
        drop(wires);
        before.assert_is_back();
    });
}
