//! Background traffic, and tasks that are more important than its sender.

use std::{
    fs,
    io::{self, Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use nix::{
    sched::{CpuSet, sched_setaffinity},
    sys::socket::{
        setsockopt,
        sockopt::{RcvBufForce, SndBufForce},
    },
    unistd::Pid,
};

use crate::{
    flow::{Flow, in_far_namespace},
    helper::{assert_rest_without_carrier, kill_helpers},
    machine::{DEFAULT, NEWEST, TWO_PROCESSORS},
    shell::{run, run_far},
    takt::{apply, link, takt},
    wire::Wire,
};

/// A thousand bytes take four milliseconds, so most packets wait for the link, and its timer
/// dequeues them while any task runs.
fn policy(more: &str) -> String {
    format!(
        r#"
[link.near1]
rate = "2mbit"

[[link.near1.class]]
name = "backup"
priority = "background"
match = {{ proto = "udp", dst_port = 5001 }}
{more}
"#
    )
}

const PACKETS: u32 = 30;
const BYTES: usize = 1000;
const NICE_LOWEST: i32 = 19;
const BUSY: Duration = Duration::from_millis(500);

/// Sends everything at once, from a thread of this nice value.
fn send(flow: &mut Flow, nice: i32) {
    thread::scope(|scope| {
        scope.spawn(|| {
            be_nice(nice);
            flow.send(PACKETS, BYTES);
        });
    });
}

/// Keep the processor busy with an important task. Without `spin_loop()`: its instruction takes one
/// nanosecond like any other, and takes the emulator a thousand.
fn be_busy(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        for step in 0..1_000 {
            std::hint::black_box(step);
        }
    }
}

fn run_only_on(processor: usize) {
    let mut only = CpuSet::new();
    only.set(processor).unwrap();
    sched_setaffinity(Pid::from_raw(0), &only).unwrap();
}

fn everything_in_order() -> Vec<u32> {
    (0..PACKETS).collect()
}

/// Its packets are blocked while an important task runs; then all of them arrive.
fn held_while_busy(more: &str) {
    let wire = Wire::new(1);
    apply(&policy(more)).ok();
    let mut flow = Flow::new(&wire, 5001);
    send(&mut flow, NICE_LOWEST);
    be_busy(BUSY);
    let busy = link("near1");
    // The helper's thread takes a three thousandth of the processor.
    assert!(
        busy.class("backup").sent_packets < u64::from(PACKETS) / 2,
        "{busy:#?}"
    );
    assert_eq!(busy.background().waits_for, "task more important");
    assert!(busy.background().held_packets > 0);
    assert_eq!(flow.arrivals(), everything_in_order());
    let after = link("near1");
    assert_eq!(after.class("backup").sent_packets, u64::from(PACKETS));
    assert!(after.class("backup").adds_up());
    assert_eq!(after.background().waits_for, "nothing");
    assert_eq!(after.background().held_packets, 0);
    let held_ns = u128::from(after.background().held_by_tasks_ns);
    assert!(held_ns >= BUSY.as_nanos() / 2, "{after:#?}");
    assert_eq!(after.background().held_by_link_ns, 0);
}

#[test]
fn a_more_important_task_holds_the_background() {
    DEFAULT.run(|| held_while_busy(""));
}

#[test]
fn a_more_important_task_holds_the_background_on_the_newest_kernel() {
    NEWEST.run(|| held_while_busy("gate = \"sender\""));
}

#[test]
fn who_sends_as_an_ordinary_task_is_not_held_by_one() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        apply(&policy("")).ok();
        let mut flow = Flow::new(&wire, 5001);
        send(&mut flow, 0);
        be_busy(BUSY);
        assert_eq!(
            link("near1").class("backup").sent_packets,
            u64::from(PACKETS)
        );
        assert_eq!(flow.arrivals(), everything_in_order());
    });
}

#[test]
fn an_open_gate_holds_nobody() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        apply(&policy("gate = \"open\"")).ok();
        let mut flow = Flow::new(&wire, 5001);
        send(&mut flow, NICE_LOWEST);
        be_busy(BUSY);
        assert_eq!(
            link("near1").class("backup").sent_packets,
            u64::from(PACKETS)
        );
        assert_eq!(flow.arrivals(), everything_in_order());
    });
}

#[test]
fn a_policy_that_opens_the_gate_lets_everybody_go() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        apply(&policy("")).ok();
        let mut flow = Flow::new(&wire, 5001);
        send(&mut flow, NICE_LOWEST);
        be_busy(BUSY / 5);
        apply(&policy("gate = \"open\"")).ok();
        be_busy(BUSY);
        assert_eq!(
            link("near1").class("backup").sent_packets,
            u64::from(PACKETS)
        );
        assert_eq!(flow.arrivals(), everything_in_order());
    });
}

/// The far end's program runs for some microseconds after each frame, and before every other task:
/// the background is looked at again soon, and keeps most of its rate.
#[test]
fn tasks_that_run_briefly_cost_the_background_little() {
    DEFAULT.run(|| {
        let _wire = Wire::new(1);
        run_far("tc qdisc add dev far1 root netem delay 2ms limit 10000").ok();
        let [open, sender] = ["open", "sender"].map(|gate| {
            apply(&format!(
                r#"
[link.near1]
rate = "1gbit"

[[link.near1.class]]
name = "backup"
priority = "background"
match = {{ proto = "tcp", dst_port = 5001 }}
gate = "{gate}"
"#
            ))
            .ok();
            upload_takes()
        });
        assert!(
            sender < open * 3 / 2,
            "{sender:?}, {open:?} with an open gate"
        );
        assert!(link("near1").class("backup").sent_packets > 0);
    });
}

/// Of data that is in the sender's buffer at once, to a program that is more important than all.
fn upload_takes() -> Duration {
    const BYTES: usize = 1_000_000;
    const WINDOW_BYTES: usize = 32 << 10;
    let to = ("10.1.0.2", 5001);
    let listener = in_far_namespace(|| TcpListener::bind(to).unwrap());
    setsockopt(&listener, RcvBufForce, &WINDOW_BYTES).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            let (mut stream, _) = listener.accept().unwrap();
            run_before_all();
            io::copy(&mut stream, &mut io::sink()).unwrap();
        });
        let sending = scope.spawn(|| {
            be_nice(NICE_LOWEST);
            let mut stream = TcpStream::connect(to).unwrap();
            setsockopt(&stream, SndBufForce, &BYTES).unwrap();
            let started = Instant::now();
            stream.write_all(&vec![0; BYTES]).unwrap();
            stream.shutdown(Shutdown::Write).unwrap();
            assert_eq!(stream.read(&mut [0]).unwrap(), 0);
            started.elapsed()
        });
        sending.join().unwrap()
    })
}

fn be_nice(nice: i32) {
    // SAFETY: a plain system call, for this thread alone.
    let done = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, nice) };
    assert_eq!(done, 0);
}

fn run_before_all() {
    let first = libc::sched_param { sched_priority: 1 };
    // SAFETY: the kernel reads the parameters, which live until it returns.
    let done = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const first) };
    assert_eq!(done, 0);
}

#[test]
fn a_floor_passes_a_closed_gate() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        apply(&policy("floor = \"400kbit\"")).ok();
        let mut flow = Flow::new(&wire, 5001);
        send(&mut flow, NICE_LOWEST);
        be_busy(BUSY);
        // Half a second at 400 kbit/s is 24 of these frames.
        let sent = link("near1").class("backup").sent_packets;
        assert!((20..u64::from(PACKETS)).contains(&sent), "{sent}");
        assert_eq!(flow.arrivals(), everything_in_order());
    });
}

/// While the processor of blocked packets stays busy, another one dequeues them. (The time that
/// takes is the host's; only that it happens is asserted.)
#[test]
fn an_idle_processor_fetches_what_another_holds() {
    TWO_PROCESSORS.run(|| {
        let wire = Wire::new(1);
        // Packets of both processors arrive by one, or they might overtake each other there.
        let queue = format!("/sys/class/net/{}/queues/rx-0/rps_cpus", wire.far);
        fs::write("/lab/arrive.sh", format!("echo 2 > {queue}\n")).unwrap();
        run_far("sh /lab/arrive.sh").ok();
        apply(&policy("")).ok();
        let mut flow = Flow::new(&wire, 5001);
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                run_only_on(0);
                send(&mut flow, NICE_LOWEST);
                while !done.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
            run_only_on(1);
            let all_left = (0..600).any(|_| {
                thread::sleep(Duration::from_millis(100));
                link("near1").class("backup").sent_packets == u64::from(PACKETS)
            });
            done.store(true, Ordering::Relaxed);
            assert!(all_left, "{:#?}", link("near1"));
        });
        assert_eq!(flow.arrivals(), everything_in_order());
    });
}

#[test]
fn a_killed_helper_is_missed_and_replaced() {
    DEFAULT.run(|| {
        let _wire = Wire::new(1);
        apply(&policy("")).ok();
        assert!(link("near1").background().opener_running);
        kill_helpers();
        takt("status")
            .ends_with(4)
            .says(&["the helper is not running"]);
        apply(&policy("")).ok();
        assert!(link("near1").background().opener_running);
    });
}

#[test]
fn a_wire_without_a_carrier_is_not_called_over_and_over() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        apply(&policy("")).ok();
        assert_rest_without_carrier(&wire, &policy(""));
        let mut flow = Flow::new(&wire, 5001);
        send(&mut flow, NICE_LOWEST);
        be_busy(BUSY);
        assert_eq!(flow.arrivals(), everything_in_order());
        assert!(link("near1").class("backup").adds_up());
    });
}

#[test]
fn a_device_that_went_down_can_call_again() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        apply(&policy("")).ok();
        run("ip link set near1 down").ok();
        takt("status").says(&["near1", "is down"]).ok();
        run("ip link set near1 up").ok();
        let mut flow = Flow::new(&wire, 5001);
        send(&mut flow, NICE_LOWEST);
        be_busy(BUSY);
        assert_eq!(flow.arrivals(), everything_in_order());
        assert!(link("near1").class("backup").adds_up());
    });
}
