//! `takt apply`, killed: either the old state is in force or the new one, traffic flows, and the
//! next takt works.

use std::{
    os::unix::process::CommandExt,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use nix::{
    sys::{
        ptrace,
        signal::{Signal, kill},
        wait::{WaitStatus, waitpid},
    },
    unistd::Pid,
};

use crate::{
    crowd::congestion,
    inventory::Inventory,
    kernel_bpf::{links, wait_for},
    machine::{DEFAULT, TWO_PROCESSORS},
    metronome, rounds,
    shell::run,
    takt::{POLICY, apply, assert_no_trace, status, takt},
    upgrade::set_layout,
    wire::Wire,
};

const OLD: &str = r#"
[link.near1]
rate = "100mbit"

[[link.near1.class]]
name = "old"
rate = "1mbit"
match = { proto = "udp", dst_port = 5001 }
"#;

const NEW: &str = r#"
[link.near1]
rate = "200mbit"

[[link.near1.class]]
name = "new"
rate = "2mbit"
match = { proto = "udp", dst_port = 5002 }
"#;

/// NEW, and a question about sockets.
const ASKING: &str = r#"
[link.near1]
rate = "200mbit"

[[link.near1.class]]
name = "new"
rate = "2mbit"
match = { app = "player" }
"#;

/// NEW, with incoming packets sent through a device.
const RECEIVING: &str = r#"
[link.near1]
rate = "200mbit"

[[link.near1.class]]
name = "new"
priority = "background"
gate = "open"
match = { proto = "udp", dst_port = 5002 }
"#;

const OTHER: &str = "[link.near2]\nrate = \"100mbit\"\n";

/// The time of attaching, and of updating.
const INSTANTS: u32 = 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Nothing,
    Old,
    New,
}

#[test]
fn at_any_instant_of_attaching() {
    DEFAULT.alone().run(|| {
        let wire = Wire::new(1);
        let whole = duration_of_apply(NEW);
        takt("revert").ok();
        for instant in rounds::in_turn("instants of attaching", 0..INSTANTS, QUARTERS) {
            kill_at(whole * instant / INSTANTS);
            recover(&wire, State::Nothing, instant % 2 == 0);
        }
        apply(NEW).ok();
        assert_is_new(&wire);
    });
}

#[test]
fn at_any_instant_of_updating() {
    DEFAULT.alone().run(|| {
        let wire = Wire::new(1);
        apply(OLD).ok();
        let whole = duration_of_apply(NEW);
        for instant in rounds::in_turn("instants of updating", 0..INSTANTS, QUARTERS) {
            apply(OLD).ok();
            write(NEW);
            kill_at(whole * instant / INSTANTS);
            recover(&wire, State::Old, false);
        }
        apply(NEW).ok();
        assert_is_new(&wire);
    });
}

#[test]
fn while_loading() {
    TWO_PROCESSORS.alone().run(|| {
        let wire = Wire::new(1);
        write(NEW);
        // Loading takes time, so not after every change.
        for change in (1..).step_by(3) {
            apply_traced(Some(change));
            let loaded = Path::new("/sys/fs/bpf/takt").exists();
            assert_eq!(recover(&wire, State::Nothing, true), State::Nothing);
            if loaded {
                break;
            }
        }
    });
}

/// The link's entry in a map is the commit point of a policy; the objects that come with it, like
/// devices and pins, are many changes of a kind.
const CLOSE: usize = 3;
const FAR: usize = 6;
/// Likewise with tables of the scheduler, which are written one by one.
const FARTHER: usize = 15;

/// A run by rounds takes a quarter of the instants, and the last.
const QUARTERS: usize = 4;

/// Kills apply after changes that are so far apart, the last of which is one: each takes the
/// emulator seconds. Returns what `recover` finds after the last.
pub fn killed_after_changes<T>(
    apart: usize,
    mut prepare: impl FnMut(),
    mut recover: impl FnMut() -> T,
) -> T {
    prepare();
    let all = apply_traced(None);
    let mut earlier: Vec<u32> = (1..all).rev().skip(apart - 1).step_by(apart).collect();
    earlier.reverse();
    for instant in rounds::in_turn("changes after which apply is killed", earlier, QUARTERS) {
        prepare();
        println!("killed after {instant} of {all} changes");
        apply_traced(Some(instant));
        recover();
    }
    prepare();
    apply_traced(Some(all));
    recover()
}

#[test]
fn after_changes_of_attaching() {
    TWO_PROCESSORS.run(|| {
        let (wire, other) = (Wire::new(1), Wire::new(2));
        let prepare = || {
            // The other link keeps the program loaded.
            apply(OTHER).ok();
            write(&format!("{OTHER}{NEW}"));
        };
        let last = killed_after_changes(CLOSE, prepare, || {
            other.assert_passes();
            recover(&wire, State::Nothing, false)
        });
        assert_eq!(last, State::New);
        assert_is_new(&wire);
    });
}

#[test]
fn after_changes_of_updating() {
    TWO_PROCESSORS.run(|| {
        let wire = Wire::new(1);
        let prepare = || {
            apply(OLD).ok();
            write(NEW);
        };
        let last = killed_after_changes(CLOSE, prepare, || recover(&wire, State::Old, false));
        assert_eq!(last, State::New);
        assert_is_new(&wire);
    });
}

#[test]
fn after_changes_of_giving_back() {
    TWO_PROCESSORS.run(|| {
        let (wire, other) = (Wire::new(1), Wire::new(2));
        let prepare = || {
            apply(&format!("{OTHER}{NEW}")).ok();
            write(OTHER);
        };
        let last = killed_after_changes(CLOSE, prepare, || {
            other.assert_passes();
            let reached = state(&wire);
            assert!(reached != State::Old);
            reached
        });
        assert_eq!(last, State::Nothing);
    });
}

#[test]
fn after_changes_of_watching_sockets() {
    TWO_PROCESSORS.run(|| comes(ASKING));
}

#[test]
fn after_changes_of_watching_no_longer() {
    TWO_PROCESSORS.run(|| goes(ASKING));
}

#[test]
fn after_changes_of_receiving() {
    TWO_PROCESSORS.run(|| comes(RECEIVING));
}

#[test]
fn after_changes_of_receiving_no_longer() {
    TWO_PROCESSORS.run(|| goes(RECEIVING));
}

/// From OLD to a policy that needs more of the kernel.
fn comes(policy: &str) {
    let wire = Wire::new(1);
    apply(OLD).ok();
    let before = attached();
    let prepare = || {
        apply(OLD).ok();
        wait_for(|| attached() == before);
        write(policy);
    };
    let last = killed_after_changes(FAR, prepare, || recover(&wire, State::Old, false));
    assert_eq!(last, State::New);
    assert_is_new(&wire);
    apply(OLD).ok();
    wait_for(|| attached() == before);
}

/// From such a policy to OLD.
fn goes(policy: &str) {
    let wire = Wire::new(1);
    apply(OLD).ok();
    let before = attached();
    let prepare = || {
        apply(policy).ok();
        write(OLD);
    };
    let last = killed_after_changes(FAR, prepare, || {
        wire.assert_passes();
        state(&wire)
    });
    assert_eq!(last, State::Old);
    apply(OLD).ok();
    wait_for(|| attached() == before);
}

#[test]
fn after_changes_of_joining_a_crowd() {
    TWO_PROCESSORS.run(|| {
        let wire = Wire::new(1);
        let crowd = "[crowd]\ngroup = \"lab\"\nkey_file = \"k\"\ndevice = \"near1\"\n";
        run("takt crowd key /lab/k");
        let mut ends_it = false;
        let prepare = || {
            takt("revert").ok();
            write(crowd);
        };
        let joined = killed_after_changes(FAR, prepare, || {
            let joined = !takt("status --output json").json()["crowd"].is_null();
            wire.assert_passes();
            // Apply completes an unfinished change, too.
            if ends_it {
                apply(crowd).ok();
                assert_eq!(congestion(), "takt");
            }
            ends_it = !ends_it;
            takt("revert").ok();
            assert_eq!(congestion(), "cubic");
            assert_no_trace();
            joined
        });
        assert!(joined);
    });
}

#[test]
fn after_changes_of_loading_beats() {
    DEFAULT.alone().run(|| {
        let before = Inventory::take();
        let wire = Wire::new(1);
        let task = "[[task]]\nname = \"beat\"\nperiod = \"20ms\"\nbudget = \"1ms\"\n";
        let mut ends_it = false;
        let loaded = killed_after_changes(
            FAR,
            || write(task),
            || {
                let loaded = metronome::state() == "enabled";
                // A policy without tasks completes an unfinished change, too.
                if ends_it {
                    apply(OLD).ok();
                    assert!(!Path::new("/run/takt/beats").exists());
                }
                ends_it = !ends_it;
                takt("revert").ok();
                assert_no_trace();
                loaded
            },
        );
        assert!(loaded);
        drop(wire);
        before.assert_is_back();
    });
}

/// From links and a scheduler of another version. The next takt completes it, or takes all back.
#[test]
fn after_changes_of_handing_over() {
    DEFAULT.alone().run(|| {
        let wire = Wire::new(1);
        let before = Inventory::take();
        let task = "[[task]]\nname = \"beat\"\nperiod = \"20ms\"\nbudget = \"1ms\"\n";
        let prepare = || {
            apply(&format!("{OLD}{task}")).ok();
            set_layout("/sys/fs/bpf/takt", 99);
            set_layout("/sys/fs/bpf/takt-beats", 99);
            write(&format!("{NEW}{task}"));
        };
        let mut completes = false;
        killed_after_changes(FARTHER, prepare, || {
            wire.assert_passes();
            if completes {
                takt(&format!("apply {POLICY}")).ok();
                assert_eq!(state(&wire), State::New);
                metronome::assert_stands();
            }
            completes = !completes;
            takt("revert").ok();
            assert_no_trace();
            before.assert_is_back();
        });
    });
}

/// Whatever a killed takt left is consistent, traffic passes, and a revert, if asked for, leaves no
/// trace. Returns the stage that was reached.
fn recover(wire: &Wire, before: State, revert: bool) -> State {
    let reached = state(wire);
    assert!([before, State::New].contains(&reached), "{reached:?}");
    wire.assert_passes();
    if revert {
        takt("revert").ok();
        assert_eq!(state(wire), State::Nothing);
        assert_no_trace();
    }
    reached
}

/// An apply of the new policy has ended.
fn assert_is_new(wire: &Wire) {
    assert_eq!(state(wire), State::New);
    assert_eq!(wire.gso_max_segs(), 16);
}

/// Which policy is in force, as takt, tc and ip agree.
fn state(wire: &Wire) -> State {
    let (links, code) = status();
    assert_eq!(code, Some(0), "{links:#?}");
    let Some(link) = links.iter().find(|link| link.device == wire.near) else {
        assert!(wire.root_qdisc().starts_with("qdisc noqueue"));
        assert_eq!(wire.gso_max_segs(), 65535);
        return State::Nothing;
    };
    assert!(link.attached && link.problem.is_none(), "{link:#?}");
    assert!(wire.root_qdisc().starts_with("qdisc takt"));
    // A millisecond's, at the old rate or the new one: it changes after the policy.
    assert!([8, 16].contains(&wire.gso_max_segs()));
    match link.class_names()[..] {
        ["default", "old"] if link.rate_bps == 100_000_000 => State::Old,
        ["default", "new"] if link.rate_bps == 200_000_000 => State::New,
        _ => panic!("neither old nor new: {link:#?}"),
    }
}

/// The programs that watch sockets and packets, as pins and as the kernel has them attached, and
/// the devices that incoming packets can be sent through.
fn attached() -> (bool, usize, String) {
    (
        Path::new("/sys/fs/bpf/takt-sockets").exists(),
        links(),
        run("ip -br link show type ifb").ok(),
    )
}

pub fn write(policy: &str) {
    std::fs::write(POLICY, policy).unwrap();
}

fn duration_of_apply(policy: &str) -> Duration {
    let start = Instant::now();
    apply(policy).ok();
    start.elapsed()
}

fn apply_command() -> Command {
    let mut command = Command::new("takt");
    command.args(["apply", POLICY]).stdout(Stdio::null());
    command
}

/// Kill `takt apply` after this time.
fn kill_at(after: Duration) {
    let mut takt = apply_command().spawn().unwrap();
    thread::sleep(after);
    takt.kill().unwrap();
    takt.wait().unwrap();
}

/// `takt apply`, killed when the nth system call that changes something has returned. Returns the
/// number of such calls.
pub fn apply_traced(killed_after: Option<u32>) -> u32 {
    let mut command = apply_command();
    // SAFETY: a system call, which is allowed between fork and exec.
    unsafe { command.pre_exec(|| Ok(ptrace::traceme()?)) };
    let takt = Pid::from_raw(command.spawn().unwrap().id() as i32);
    waitpid(takt, None).unwrap();
    ptrace::setoptions(takt, ptrace::Options::PTRACE_O_TRACESYSGOOD).unwrap();
    let mut changes = 0;
    while let Some(entered) = next_stop(takt)
        && next_stop(takt).is_some()
    {
        changes += u32::from(is_change(&entered));
        if Some(changes) == killed_after {
            kill(takt, Signal::SIGKILL).unwrap();
            waitpid(takt, None).unwrap();
            break;
        }
    }
    changes
}

/// Lets the process run to the next entry to or return from a system call.
fn next_stop(process: Pid) -> Option<libc::user_regs_struct> {
    let mut signal = None;
    loop {
        ptrace::syscall(process, signal).unwrap();
        match waitpid(process, None).unwrap() {
            WaitStatus::PtraceSyscall(_) => return Some(ptrace::getregs(process).unwrap()),
            // Of its own processes.
            WaitStatus::Stopped(_, Signal::SIGCHLD) => signal = Some(Signal::SIGCHLD),
            WaitStatus::Exited(_, 0) => return None,
            other => panic!("takt apply: {other:?}"),
        }
    }
}

/// Whether a system call makes a change that outlives the process.
fn is_change(call: &libc::user_regs_struct) -> bool {
    const MAP_UPDATE_ELEM: u64 = 2;
    const MAP_DELETE_ELEM: u64 = 3;
    const OBJ_PIN: u64 = 6;
    const PROG_TEST_RUN: u64 = 10;
    const LINK_CREATE: u64 = 28;
    match call.orig_rax as libc::c_long {
        libc::SYS_mkdir
        | libc::SYS_rename
        | libc::SYS_unlink
        | libc::SYS_unlinkat
        | libc::SYS_rmdir
        | libc::SYS_sendto => true,
        libc::SYS_openat => call.rdx & libc::O_CREAT as u64 != 0,
        libc::SYS_bpf => matches!(
            call.rdi,
            MAP_UPDATE_ELEM | MAP_DELETE_ELEM | OBJ_PIN | PROG_TEST_RUN | LINK_CREATE
        ),
        _ => false,
    }
}
