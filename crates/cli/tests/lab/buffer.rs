//! The device's buffer: limited while a class is in the background, and restored afterwards.

use crate::{
    machine::{DEFAULT, NEWEST},
    shell::run,
    takt::{apply, assert_no_trace, link, takt},
};

/// A full frame takes more than two milliseconds.
pub const SLOW: &str = r#"
[link.near9]
rate = "5.7mbit"

[[link.near9.class]]
name = "backup"
priority = "background"
receive = false
match = { dst_port = 873 }
"#;

const KERNELS_OWN: u64 = 1_879_048_192;

#[test]
fn is_limited_while_a_class_is_in_the_background_on_the_default_kernel() {
    DEFAULT.run(|| {
        is_limited();
        assert_no_trace();
    });
}

#[test]
fn is_limited_while_a_class_is_in_the_background_on_the_newest_kernel() {
    NEWEST.run(|| {
        is_limited();
        assert_no_trace();
    });
}

/// With a device that has the files, though its driver does not count bytes.
fn is_limited() {
    run("ip link add near9 mtu 1500 numtxqueues 2 type ifb").ok();
    run("ip link set near9 up").ok();
    assert_eq!(limits(), [KERNELS_OWN; 2]);
    apply(SLOW).ok();
    assert_eq!(limits(), [1513; 2]);
    // Without counted bytes the limit is not what keeps the buffer short.
    assert_eq!(link("near9").device_buffer.unwrap().kind, "link clock");
    apply(SLOW).says(&["near9: unchanged"]).ok();

    // Too fast, and no class in the background.
    for change in [
        ("5.7mbit", "100mbit"),
        ("priority = \"background\"\nreceive = false", ""),
    ] {
        apply(&SLOW.replace(change.0, change.1)).ok();
        assert_eq!(limits(), [KERNELS_OWN; 2]);
        apply(SLOW).ok();
        assert_eq!(limits(), [1513; 2]);
    }

    // A limit that another program set stays.
    write_limit(1, 700);
    apply(SLOW).says(&["near9: unchanged"]).ok();
    assert_eq!(limits(), [1513, 700]);
    takt("revert").ok();
    assert_eq!(limits(), [KERNELS_OWN, 700]);
    assert_no_trace();

    // A takt that died before it wrote the limit leaves that to the next takt.
    apply(SLOW).ok();
    write_limit(0, KERNELS_OWN);
    apply(SLOW).says(&["near9: unchanged"]).ok();
    assert_eq!(limits(), [1513; 2]);
    takt("revert").ok();
    assert_eq!(limits(), [KERNELS_OWN, 700]);
    run("ip link del near9").ok();
}

fn limit_file(queue: u32) -> String {
    format!("/sys/class/net/near9/queues/tx-{queue}/byte_queue_limits/limit_max")
}

/// `ip netns exec` shows the namespace's own devices in /sys.
fn limits() -> [u64; 2] {
    [0, 1].map(|queue| {
        let shown = run(&format!("ip netns exec a cat {}", limit_file(queue))).ok();
        shown.trim().parse().expect("a number")
    })
}

fn write_limit(queue: u32, bytes: u64) {
    let mut command = std::process::Command::new("ip");
    let script = format!("echo {bytes} > {}", limit_file(queue));
    command.args(["netns", "exec", "a", "sh", "-c", &script]);
    crate::shell::run_command(&mut command).ok();
}
