//! The congestion control `takt`, by the library: bounds reach running flows, and end.

use std::{net::TcpListener, process::Command, thread, time::Duration};

use takt_algo::{Group, WindowTerms};
use takt_host::Crowd;

use crate::{
    machine::{DEFAULT, NEWEST},
    upload::Upload,
};

const PERIOD_NS: u64 = 50_000_000;

#[test]
fn bounds_move_running_flows_on_the_default_kernel() {
    DEFAULT.run(|| {
        bounds_move_running_flows();
    });
}

#[test]
fn bounds_move_running_flows_on_the_newest_kernel() {
    NEWEST.run(|| {
        bounds_move_running_flows();
    });
}

fn bounds_move_running_flows() {
    enter_own_namespaces();
    assert!(Crowd::open().expect("pins are read").is_none());
    let crowd = Crowd::load().unwrap_or_else(|error| panic!("{error}"));
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let flow = Upload::start(&listener, Some("takt")).expect("takt can be chosen");
    assert!(flow.is_reached(|window| window > 20), "CUBIC until told");

    bound(&crowd, 4);
    assert!(flow.is_reached(|window| window <= 4), "an upper bound");
    thread::sleep(Duration::from_millis(200));
    assert!(flow.window() <= 4, "and it stays");
    assert!(crowd.set(&Group::default(), 1).expect("the map takes it"));
    let usage = crowd.usage().expect("it is read").expect("it is counted");
    assert!(usage.delivered_bytes > 0 && usage.limited_periods > 0);

    bound(&crowd, 1000);
    assert!(flow.is_reached(|window| window > 4), "and goes");

    bound(&crowd, 4);
    assert!(flow.is_reached(|window| window <= 4));
    // Another takt removes it.
    drop(crowd);
    let crowd = Crowd::open().expect("pins are read").expect("it is there");
    crowd.leave().expect("it is");
    assert!(
        flow.is_reached(|window| window > 4),
        "goes on under CUBIC alone"
    );
    assert!(!crowd.set(&Group::default(), 1).expect("nobody is there"));
    assert_eq!(crowd.usage().expect("it is read"), None);
    crowd.unload().expect("it goes");
    assert!(Crowd::open().expect("pins are read").is_none());
    // The kernel frees it with a delay.
    let is_gone = || match Upload::start(&listener, Some("takt")) {
        Err(error) => error.raw_os_error() == Some(libc::ENOENT),
        Ok(_) => false,
    };
    assert!(
        (0..500).any(|_| {
            thread::sleep(Duration::from_millis(10));
            is_gone()
        }),
        "nobody can choose it any more"
    );
}

/// Larger than any window on the loopback.
fn bound(crowd: &Crowd, window_max: u32) {
    const LOOPBACK: u32 = 1;
    crowd
        .enter(1, LOOPBACK, PERIOD_NS, &terms(window_max))
        .expect("the map takes it");
}

fn terms(window_max: u32) -> WindowTerms {
    WindowTerms::new(
        WindowTerms::STANDING_SEGMENTS,
        WindowTerms::MEMORY_SHIFT,
        window_max,
    )
}

/// A network namespace and a BPF file system of its own.
fn enter_own_namespaces() {
    // SAFETY: no pointers.
    let left = unsafe { libc::unshare(libc::CLONE_NEWNS | libc::CLONE_NEWNET) };
    assert_eq!(left, 0, "this takes root");
    for command in [
        "mount --make-rprivate /",
        "mount -t bpf bpf /sys/fs/bpf",
        // Segments of 64 KiB would be gone before a second one fits the window.
        "ip link set lo mtu 1500 up",
    ] {
        let mut words = command.split(' ');
        let done = Command::new(words.next().expect("a name"))
            .args(words)
            .status();
        assert!(done.is_ok_and(|status| status.success()), "{command}");
    }
}
