//! The process that helps a namespace's links.

use std::{fs, thread, time::Duration};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

/// The helpers of all namespaces.
pub fn helpers() -> Vec<Pid> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let helps = |arguments: &[u8]| {
        let mut arguments = arguments.split(|byte| *byte == 0);
        arguments
            .next()
            .is_some_and(|program| program.ends_with(b"takt"))
            && arguments.next() == Some(b"feed")
    };
    processes
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            let arguments = fs::read(entry.path().join("cmdline")).ok()?;
            helps(&arguments).then(|| Pid::from_raw(pid))
        })
        .collect()
}

/// Kills them, and waits until they hold nothing any more: a process that dies has no name
/// for a while before it closes its files.
#[track_caller]
pub fn kill_helpers() {
    let killed = helpers();
    assert!(!killed.is_empty(), "nobody helps");
    for helper in killed {
        kill(helper, Signal::SIGKILL).unwrap();
        let is_dead = (0..500).any(|_| {
            thread::sleep(Duration::from_millis(10));
            fs::read_to_string(format!("/proc/{helper}/stat"))
                .map_or(true, |stat| stat.contains(") Z ") || stat.contains(") X "))
        });
        assert!(is_dead, "{helper} does not die");
    }
}

/// That none helps any more. One that has said goodbye is a process for a moment
/// longer.
#[track_caller]
pub fn assert_no_helper() {
    let gone = (0..500).any(|_| {
        thread::sleep(Duration::from_millis(10));
        helpers().is_empty()
    });
    assert!(gone, "still there: {:?}", helpers());
}
