//! Tables that takt-dispatch keeps, on kernels that cannot load the scheduler.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use crate::{
    machine::{OLDEST, REALTIME},
    metronome::{MS, Shell, US, now_ns, sleep_ms, sleep_until, spin, take_name},
    shell::run,
    takt::{POLICY, apply, takt},
};

/// A beat 1 ms into every 10 ms.
const TABLE: &str = r#"
[[task]]
name = "beat"
period = "10ms"
budget = "1ms"
offset = "1ms"
"#;
const PERIOD_NS: u64 = 10 * MS;
const BEAT_NS: u64 = MS;
const JOBS: usize = 300;
/// The dispatcher is switched to and from first, and makes three system calls.
const LATER_MAX_NS: u64 = 15 * US;

/// Beside takt, for the machines in which it is tested.
pub fn program() -> PathBuf {
    Path::new(env!("CARGO_BIN_EXE_takt")).with_file_name("takt-dispatch")
}

struct Dispatcher(Child);

impl Dispatcher {
    fn start() -> Self {
        fs::write(POLICY, TABLE).unwrap();
        let mut dispatcher = Command::new("takt-dispatch");
        // Its line would be part of libtest's.
        dispatcher.args(["run", POLICY]).stdout(Stdio::null());
        Self(dispatcher.spawn().unwrap())
    }

    fn end(mut self) {
        kill(Pid::from_raw(self.0.id() as i32), Signal::SIGTERM).unwrap();
        assert!(self.0.wait().unwrap().success());
    }
}

/// How late a thread that sleeps until each beat begins its work, in order.
fn late_ns(enter: impl FnOnce() + Send + 'static) -> Vec<u64> {
    let thread = thread::spawn(move || {
        take_name("beat");
        nix::sys::prctl::set_timerslack(1).unwrap();
        enter();
        // It is found within half a second.
        sleep_ms(1_200);
        let mut beat_ns = now_ns() / PERIOD_NS * PERIOD_NS + PERIOD_NS + BEAT_NS;
        let mut late_ns = Vec::new();
        for _ in 0..JOBS {
            sleep_until(beat_ns);
            late_ns.push(now_ns().saturating_sub(beat_ns));
            spin(300 * US);
            beat_ns += PERIOD_NS;
        }
        late_ns
    });
    let mut late_ns = thread.join().unwrap();
    late_ns.sort_unstable();
    late_ns
}

fn enter_fifo() {
    let parameters = libc::sched_param { sched_priority: 69 };
    // SAFETY: the kernel reads the parameters, which live until it returns.
    let answer = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) };
    assert_eq!(answer, 0);
}

fn percentile(late_ns: &[u64], percent: usize) -> u64 {
    late_ns[late_ns.len() * percent / 100]
}

/// Beside two threads that never sleep, as punctual as one of SCHED_FIFO but for the dispatcher's
/// own way.
fn keeps_the_table() {
    apply(TABLE).says(&["this kernel lacks", "takt dispatch"]);
    let busy = [Shell::busy("busy"), Shell::busy("busy")];
    let fifo_ns = late_ns(enter_fifo);
    let dispatcher = Dispatcher::start();
    let dispatched_ns = late_ns(|| {});
    println!("{}", takt("dispatch status").stdout);
    let status = takt("dispatch status --output json").json();
    assert!(status["tasks"][0]["jobs_count"].as_u64().unwrap() >= JOBS as u64);
    for percent in [50, 99] {
        let (own_ns, peer_ns) = (
            percentile(&dispatched_ns, percent),
            percentile(&fifo_ns, percent),
        );
        println!("p{percent}: {own_ns} ns, SCHED_FIFO {peer_ns} ns");
        assert!(own_ns <= peer_ns + LATER_MAX_NS, "p{percent}");
    }
    dispatcher.end();
    drop(busy);
    assert_eq!(run("ls /run/takt-dispatch/jobs").stdout, "");
}

#[test]
fn tables_are_kept_with_preempt_rt() {
    REALTIME.run(|| {
        keeps_the_table();
    });
}

#[test]
fn tables_are_kept_before_sched_ext() {
    OLDEST.run(|| {
        keeps_the_table();
    });
}
