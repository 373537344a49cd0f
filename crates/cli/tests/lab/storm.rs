//! Every command of takt, killed at any instant, several at once, or with a processor taken
//! offline: nothing remains.

use std::{
    fs,
    process::{Command, Stdio},
    thread,
    time::Instant,
};

use nix::sys::signal::Signal;

use crate::{
    daemon::Daemon,
    everything::{EVERYTHING, assert_only_exchanges_lost, lost_during},
    helper::{assert_helpers, kill_any_helpers},
    inventory::Inventory,
    machine::{DEFAULT, TWO_PROCESSORS},
    metronome::{US, assert_stands, member, sleep_ms, spin},
    takt::{POLICY, apply, link, status, takt},
    wire::Wire,
};

const ROUNDS: usize = 12;

/// A generator that is the same in every run.
struct Dice(u32);

impl Dice {
    fn throw(&mut self, sides: u32) -> u32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (self.0 >> 16) % sides
    }
}

/// Loads no scheduler, so that it is quickly loaded and removed.
fn light() -> &'static str {
    let (links, _) = EVERYTHING.split_once("[[task]]").expect("a task");
    links
}

#[test]
fn any_command_killed_at_any_instant() {
    DEFAULT.run(|| {
        let before = Inventory::take();
        let wires = [1, 2].map(Wire::new);
        let begin = Instant::now();
        apply(EVERYTHING).ok();
        let whole_ms = begin.elapsed().as_millis() as u32;
        let mut daemon = Daemon::start();
        let mut dice = Dice(8);
        let lost = lost_during(&wires[0], 5001, || {
            for _ in 0..ROUNDS {
                match dice.throw(4) {
                    0 => {
                        daemon.ends_with(Signal::SIGKILL);
                        daemon = Daemon::start();
                    }
                    1 => kill_any_helpers(),
                    2 => kill_after(dice.throw(whole_ms), &["revert"]),
                    _ => {
                        let policy = [EVERYTHING, light()][dice.throw(2) as usize];
                        fs::write(POLICY, policy).unwrap();
                        kill_after(dice.throw(whole_ms), &["apply", POLICY]);
                    }
                }
                assert_whole(&wires);
            }
            apply(EVERYTHING).ok();
            assert_stands();
            assert_helpers(1);
            assert!(link("near1").attached && link("near2").attached);
            daemon.ends_with(Signal::SIGTERM);
        });
        assert_only_exchanges_lost(&lost, 2 * ROUNDS);
        drop(wires);
        before.assert_is_back();
    });
}

/// A takt that gets so far, if it takes that long.
fn kill_after(ms: u32, arguments: &[&str]) {
    let mut takt = Command::new("takt")
        .args(arguments)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    sleep_ms(ms.into());
    takt.kill().unwrap();
    takt.wait().unwrap();
}

/// Whatever policy is in force is consistent, and packets pass.
#[track_caller]
fn assert_whole(wires: &[Wire]) {
    let (links, _) = status();
    assert!(links.iter().all(|link| link.attached), "{links:#?}");
    wires.iter().for_each(Wire::assert_passes);
}

#[test]
fn several_apply_and_revert_at_once() {
    TWO_PROCESSORS.run(|| {
        let before = Inventory::take();
        let wires = [1, 2].map(Wire::new);
        let other = "/lab/other.toml";
        fs::write(POLICY, light()).unwrap();
        fs::write(other, light().replace("200mbit", "100mbit")).unwrap();
        let [first, second] = [POLICY, other].map(|policy| format!("apply {policy}"));
        for _ in 0..2 {
            let all = ["revert", &first, "status", &second, "revert", "status"];
            thread::scope(|scope| {
                for arguments in all {
                    scope.spawn(|| takt(arguments).ok());
                }
            });
            assert_whole(&wires);
        }
        takt(&first).ok();
        assert_eq!(link("near1").rate_bps, 200_000_000);
        assert_helpers(1);
        drop(wires);
        before.assert_is_back();
    });
}

#[test]
fn a_processor_goes_and_comes_back_under_everything() {
    TWO_PROCESSORS.run(|| {
        let before = Inventory::take();
        let wires = [1, 2].map(Wire::new);
        apply(EVERYTHING).ok();
        let beats = member("beat", 200, |_| spin(500 * US));
        let lost = lost_during(&wires[0], 5001, || {
            for online in ["0", "1"] {
                fs::write("/sys/devices/system/cpu/cpu1/online", online).unwrap();
                sleep_ms(500);
                assert_whole(&wires);
                // The beats are where a processor is.
                apply(EVERYTHING).ok();
                assert_stands();
            }
        });
        assert!(lost.is_empty(), "{lost:?}");
        beats.join().unwrap();
        drop(wires);
        before.assert_is_back();
    });
}
