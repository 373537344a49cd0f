//! The helper of a namespace's links.

use std::{fs, thread, time::Duration};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use crate::{
    shell::run_far,
    takt::{apply, takt},
    wire::Wire,
};

/// The helpers of all namespaces.
pub fn helpers() -> Vec<Pid> {
    processes("feed")
}

/// Helpers that run a command of takt's.
pub fn processes(command: &str) -> Vec<Pid> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let runs = |arguments: &[u8]| {
        let mut arguments = arguments.split(|byte| *byte == 0);
        arguments
            .next()
            .is_some_and(|program| program.ends_with(b"takt"))
            && arguments.next() == Some(command.as_bytes())
    };
    processes
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            let arguments = fs::read(entry.path().join("cmdline")).ok()?;
            runs(&arguments).then(|| Pid::from_raw(pid))
        })
        .collect()
}

/// The processor time of the helpers, all their threads together.
pub fn helper_time() -> Duration {
    let threads = |helper: Pid| fs::read_dir(format!("/proc/{helper}/task")).unwrap();
    let ran_ns = |thread: fs::DirEntry| -> u64 {
        let times = fs::read_to_string(thread.path().join("schedstat")).unwrap();
        times.split(' ').next().unwrap().parse().unwrap()
    };
    let ran_ns = helpers()
        .into_iter()
        .flat_map(threads)
        .map(|thread| ran_ns(thread.unwrap()))
        .sum();
    Duration::from_nanos(ran_ns)
}

/// Assert that the helpers are idle while a wire has no carrier, which means that its device
/// accepts and discards all packets. The policy is in force before the carrier goes, and then
/// applied again.
#[track_caller]
pub fn assert_rest_without_carrier(wire: &Wire, policy: &str) {
    run_far(&format!("ip link set {} down", wire.far)).ok();
    assert_rest();
    takt("revert").ok();
    apply(policy).ok();
    assert_rest();
    takt("status").says(&["near1", "has no carrier"]).ok();
    assert_device_state("no_carrier");
    run_far(&format!("ip link set {} up", wire.far)).ok();
    // They retry once a second.
    thread::sleep(Duration::from_secs(3));
    assert_device_state("ready");
}

#[track_caller]
fn assert_device_state(state: &str) {
    let status = takt("status --output json").json();
    assert_eq!(status["links"][0]["device_state"], state);
}

#[track_caller]
fn assert_rest() {
    thread::sleep(Duration::from_millis(100));
    assert!(!helpers().is_empty(), "no helper runs");
    let before = helper_time();
    thread::sleep(Duration::from_secs(4));
    let ran = helper_time() - before;
    assert!(ran < Duration::from_millis(200), "{ran:?}");
}

/// Kills them, of which there are some.
#[track_caller]
pub fn kill_helpers() {
    assert!(!helpers().is_empty(), "no helper runs");
    kill_any_helpers();
}

/// Kills them, and waits until they hold nothing any more: a dying process has no name for a while
/// before it closes its files.
#[track_caller]
pub fn kill_any_helpers() {
    for helper in helpers() {
        kill(helper, Signal::SIGKILL).unwrap();
        let is_dead = (0..500).any(|_| {
            thread::sleep(Duration::from_millis(10));
            // Its files are closed with the last of its threads.
            let threads = fs::read_dir(format!("/proc/{helper}/task"));
            threads.map_or(true, |threads| {
                threads.flatten().all(|thread| {
                    fs::read_to_string(thread.path().join("stat"))
                        .map_or(true, |stat| stat.contains(") Z ") || stat.contains(") X "))
                })
            })
        });
        assert!(is_dead, "{helper} does not die");
    }
}

/// Assert that so many helpers run. A helper that has announced its end is a process for a moment
/// longer.
#[track_caller]
pub fn assert_helpers(count: usize) {
    let are_so_many = (0..500).any(|_| {
        thread::sleep(Duration::from_millis(10));
        helpers().len() == count
    });
    assert!(are_so_many, "there are {:?}", helpers());
}

#[track_caller]
pub fn assert_no_helper() {
    assert_helpers(0);
}
