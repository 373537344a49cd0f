//! takt's report on beats, and on a scheduler that the kernel has ended.

use std::{
    fs,
    net::UdpSocket,
    process::{Child, Command},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::{
    machine::{DEFAULT, NEWEST, TWO_PROCESSORS, WITHOUT_BPF_QDISCS, on_old_kernels},
    metronome::{now_ns, sleep_until, spin},
    shell::run,
    takt::{apply, apply_with, assert_no_trace, takt},
};

const ONE: &str = r#"
[[task]]
name = "keeps"
period = "20ms"
budget = "4ms"
"#;

/// One task that keeps to its budget, and one that does not.
const TWO: &str = r#"
[[task]]
name = "keeps"
period = "20ms"
budget = "4ms"

[[task]]
name = "overruns"
period = "40ms"
budget = "2ms"
offset = "10ms"
"#;

const NO_TASKS: &str = "[link.va]\nrate = \"1gbit\"\n";

const OTHER: &str = "[[task]]\nname = \"other\"\nperiod = \"10ms\"\nbudget = \"1ms\"\n";

/// The JSON of two tasks, each kind of path once; `[]` stands for the elements of a list.
const SHAPE: &str = "\
beats.clock string
beats.clock_set_by_ns number
beats.cpus[].assigned_ppm number
beats.cpus[].cpu number
beats.cpus[].early_ns.beat number
beats.cpus[].early_ns.idle number
beats.cpus[].early_ns.kernel number
beats.cpus[].early_ns.sleep number
beats.cpus[].early_ns.thread number
beats.cpus[].edge_late_max_ns number
beats.cpus[].edges number
beats.cpus[].frame_ns number
beats.cpus[].generation number
beats.cpus[].slots number
beats.cpus[].swaps number
beats.ended null
beats.generation number
beats.grid string
beats.grid_ns number
beats.network.batch_packets number
beats.policy string
beats.problem null
beats.running boolean
beats.tai_offset_s null
changing null
crowd null
pending null
tasks[].ad_hoc_uid null
tasks[].budget_ns number
tasks[].completed number
tasks[].cut_late_max_ns number
tasks[].handoff string
tasks[].lateness.histogram[].count number
tasks[].lateness.histogram[].from_ns number
tasks[].lateness.max_ns number
tasks[].lateness.mean_ns number
tasks[].lateness.p50_ns number
tasks[].lateness.p90_ns number
tasks[].lateness.p999_ns number
tasks[].lateness.p99_ns number
tasks[].lead_max_ns null
tasks[].lead_ns number
tasks[].members[].barred null
tasks[].members[].name string
tasks[].members[].tid number
tasks[].missed number
tasks[].name string
tasks[].offset_ns number
tasks[].outside number
tasks[].overrun string
tasks[].overruns number
tasks[].passed number
tasks[].period string
tasks[].period_ns number
tasks[].pieces[].beat_ns number
tasks[].pieces[].begin_ns number
tasks[].pieces[].cpu number
tasks[].pieces[].end_ns number
tasks[].releases number
tasks[].skipped number
tasks[].stalled boolean
tasks[].started number
tasks[].stolen_higher_ns number
tasks[].stolen_interrupts_ns number
tasks[].stopped boolean
tasks[].used_max_ns number
tasks[].used_ns number
tasks[].wakes_at_ns null";

/// A thread that works for so long in each job, with a packet to itself.
struct Member {
    goes_on: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Member {
    fn start(name: &str, work: Duration) -> Self {
        let goes_on = Arc::new(AtomicBool::new(true));
        let told = goes_on.clone();
        let thread = thread::Builder::new().name(name.to_owned());
        let thread = thread.spawn(move || {
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            let own = socket.local_addr().unwrap();
            while told.load(Ordering::Relaxed) {
                let begin = Instant::now();
                socket.send_to(&[0], own).unwrap();
                while begin.elapsed() < work {}
                thread::yield_now();
            }
        });
        Self {
            goes_on,
            thread: thread.unwrap(),
        }
    }

    fn end(self) {
        self.goes_on.store(false, Ordering::Relaxed);
        self.thread.join().unwrap();
    }
}

fn sleep(ms: u64) {
    thread::sleep(Duration::from_millis(ms));
}

#[track_caller]
fn status() -> Value {
    takt("status --output json").ends_with(0).json()
}

fn number(value: &Value, key: &str) -> u64 {
    value[key]
        .as_u64()
        .unwrap_or_else(|| panic!("{key} in {value:#}"))
}

fn names(status: &Value) -> Vec<&str> {
    let tasks = status["tasks"].as_array().unwrap();
    tasks
        .iter()
        .map(|task| task["name"].as_str().unwrap())
        .collect()
}

/// Every path in it, with its type, sorted.
fn shape(value: &Value, path: &str, lines: &mut Vec<String>) {
    let kind = match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let dot = if path.is_empty() { "" } else { "." };
                shape(value, &format!("{path}{dot}{key}"), lines);
            }
            return;
        }
        Value::Array(elements) => {
            for element in elements {
                shape(element, &format!("{path}[]"), lines);
            }
            return;
        }
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
    };
    lines.push(format!("{path} {kind}"));
    lines.sort();
    lines.dedup();
}

/// Two tasks at work, and their status.
fn tells_what_tasks_did() -> Value {
    run("ip link set lo up").ok();
    apply(TWO)
        .says(&["beats: the scheduler is loaded, 2 tasks"])
        .ok();
    let idle = status();
    assert_eq!(idle["tasks"][0]["lateness"], Value::Null);
    assert_eq!(idle["tasks"][0]["members"][0]["tid"], Value::Null);

    let members = [
        Member::start("keeps", Duration::from_millis(1)),
        Member::start("overruns", Duration::from_millis(5)),
    ];
    sleep(1_000);
    let status = status();
    let text = takt("status --tasks").ok();
    let short = takt("status").ok();
    members.into_iter().for_each(Member::end);

    let (keeps, overruns) = (&status["tasks"][0], &status["tasks"][1]);
    for (task, period_ns, budget_ns) in [(keeps, 20, 4), (overruns, 40, 2)] {
        assert_eq!(number(task, "period_ns"), period_ns * 1_000_000);
        assert_eq!(number(task, "budget_ns"), budget_ns * 1_000_000);
        let piece = &task["pieces"][0];
        assert_eq!(number(piece, "beat_ns"), number(task, "offset_ns"));
        assert_eq!(
            number(piece, "end_ns") - number(piece, "begin_ns"),
            budget_ns * 1_000_000
        );
        assert!(number(&task["members"][0], "tid") > 0, "{task:#}");

        let started = number(task, "started");
        assert!(number(task, "missed") <= number(task, "releases"));
        assert!(
            started > 0 && started <= number(task, "releases"),
            "{task:#}"
        );
        assert!(number(task, "used_ns") <= started * number(task, "used_max_ns"));
        let lateness = &task["lateness"];
        let ordered =
            ["p50_ns", "p90_ns", "p99_ns", "p999_ns", "max_ns"].map(|key| number(lateness, key));
        assert!(ordered.is_sorted(), "{lateness:#}");
        assert!(number(lateness, "mean_ns") <= number(lateness, "max_ns"));
        let buckets = lateness["histogram"].as_array().unwrap();
        let counted: u64 = buckets.iter().map(|bucket| number(bucket, "count")).sum();
        assert_eq!(counted, started);
        // Each job sends itself a packet, which is received in a softirq.
        let stolen_ns = number(task, "stolen_interrupts_ns");
        assert!(
            stolen_ns > 0 && stolen_ns < number(task, "used_ns") / 4,
            "{task:#}"
        );
    }
    assert_eq!(number(overruns, "offset_ns"), 10_000_000);
    assert!(number(overruns, "overruns") > 0, "{overruns:#}");

    let cpus = status["beats"]["cpus"].as_array().unwrap();
    assert_eq!(cpus.len(), 1, "{cpus:#?}");
    assert_eq!(number(&cpus[0], "frame_ns"), 40_000_000);
    assert_eq!(number(&cpus[0], "slots"), 3);
    assert_eq!(number(&cpus[0], "assigned_ppm"), 250_000);
    assert!(number(&cpus[0], "edges") > 0);

    let line = "beats  running  2 tasks on 1 CPU";
    assert!(
        short.lines().count() == 1 && short.contains(line),
        "{short}"
    );
    for said in [
        line,
        "25.0%",
        "keeps",
        "overruns",
        "40ms",
        "stolen",
        "an overrun demotes",
    ] {
        assert!(text.contains(said), "{said} in\n{text}");
    }
    takt("revert")
        .says(&["beats: the scheduler is unloaded"])
        .ok();
    assert_no_trace();
    status
}

#[test]
fn status_tells_what_tasks_did() {
    DEFAULT.alone().run(|| {
        let status = tells_what_tasks_did();
        let (keeps, overruns) = (&status["tasks"][0], &status["tasks"][1]);
        // In virtual time no job is late because of the host.
        assert_eq!(number(keeps, "overruns"), 0, "{keeps:#}");
        assert!(number(keeps, "started") >= 45, "{keeps:#}");
        assert!(number(overruns, "started") >= 22, "{overruns:#}");
        assert!(number(overruns, "overruns") >= 22, "{overruns:#}");

        let mut lines = Vec::new();
        shape(&status, "", &mut lines);
        let expected: Vec<&str> = SHAPE.lines().collect();
        assert!(lines == expected, "another shape: {lines:#?}");
    });
}

#[test]
fn status_tells_it_on_the_newest_kernel() {
    NEWEST.run(|| drop(tells_what_tasks_did()));
}

#[test]
fn status_tells_it_without_bpf_qdiscs() {
    WITHOUT_BPF_QDISCS.run(|| drop(tells_what_tasks_did()));
}

#[test]
fn status_tells_it_on_two_processors() {
    TWO_PROCESSORS.run(|| drop(tells_what_tasks_did()));
}

/// Does `jobs` jobs of half a millisecond, each so long after a slot opens, and sleeps by its own
/// clock in between, as programs do that know nothing of slots. Returns its task's status.
fn sleeps_by_its_own_clock(after_ns: u64, jobs: u64) -> Value {
    const PERIOD_NS: u64 = 20_000_000;
    apply(ONE).ok();
    let begin_ns = number(&status()["tasks"][0]["pieces"][0], "begin_ns");
    let thread = thread::Builder::new().name("keeps".to_owned());
    let thread = thread.spawn(move || {
        let first = now_ns() / PERIOD_NS + 2;
        for period in first..first + jobs {
            sleep_until(period * PERIOD_NS + begin_ns + after_ns);
            spin(500_000);
        }
        status()["tasks"][0].clone()
    });
    let task = thread.unwrap().join().unwrap();
    takt("revert").ok();
    task
}

/// Has a reservation for so many jobs, and sleeps. Returns its task's status.
fn sleeps_through_its_jobs(jobs: u32) -> Value {
    const PERIOD: Duration = Duration::from_millis(20);
    apply(ONE).ok();
    let thread = thread::Builder::new().name("keeps".to_owned());
    let thread = thread.spawn(move || {
        thread::sleep(PERIOD * (jobs + 1));
        status()["tasks"][0].clone()
    });
    let task = thread.unwrap().join().unwrap();
    takt("revert").ok();
    task
}

/// What is missed is what was lost: a job that begins late in its slot is not, nor is one whose thread
/// comes by its own clock when no slot is open.
#[test]
fn missed_jobs_are_those_that_were_lost() {
    DEFAULT.run(|| {
        let within = sleeps_by_its_own_clock(1_000_000, 50);
        assert!(number(&within, "started") >= 49, "{within:#}");
        // One whole period before the thread's first job, at most.
        assert!(number(&within, "missed") <= 2, "{within:#}");
        assert_eq!(number(&within, "outside"), 0, "{within:#}");
        assert_eq!(within["wakes_at_ns"], Value::Null, "{within:#}");
        let behind = sleeps_by_its_own_clock(10_000_000, 50);
        assert!(number(&behind, "missed") <= 2, "{behind:#}");
        assert!(number(&behind, "outside") >= 48, "{behind:#}");
        assert!(number(&behind, "started") <= 1, "{behind:#}");
        let wakes_ns = number(&behind["pieces"][0], "begin_ns") + 10_000_000;
        let late_ns = number(&behind, "wakes_at_ns") - wakes_ns;
        assert!(late_ns < 100_000, "{late_ns}: {behind:#}");
        let lost = sleeps_through_its_jobs(50);
        assert!(number(&lost, "missed") >= 48, "{lost:#}");
        // It wakes once, at the end.
        assert!(number(&lost, "outside") <= 1, "{lost:#}");
    });
}

#[test]
fn revert_says_what_it_did() {
    DEFAULT.run(|| {
        apply(TWO).ok();
        let undone = takt("revert --output json").ends_with(0).json();
        assert_eq!(undone["beats"], "unloaded");
        assert_no_trace();
        takt("revert").says(&["nothing to revert"]).ok();
        let undone = takt("revert --output json").ends_with(0).json();
        assert_eq!(undone["beats"], Value::Null);
        assert_eq!(undone["links"], Value::Array(Vec::new()));
    });
}

#[test]
fn apply_says_what_it_does() {
    DEFAULT.run(|| {
        apply_with("--dry-run", OTHER)
            .says(&["beats: the scheduler would be loaded, 1 task\n"])
            .ok();
        assert_no_trace();
        takt("check /lab/policy.toml")
            .says(&["valid, 1 task\n"])
            .ok();
        apply(OTHER)
            .says(&["the scheduler is loaded, 1 task\n"])
            .ok();
        apply_with("--dry-run", TWO)
            .says(&["beats: would be updated, 2 tasks\n"])
            .ok();
        apply(OTHER).says(&["beats: unchanged, 1 task\n"]).ok();
        takt("revert").ok();
    });
}

/// A program on the beat without a policy.
fn start_ad_hoc() -> Child {
    let child = Command::new("takt")
        .args("run --period 40ms --budget 1ms -- sleep 1000".split(' '))
        .spawn()
        .unwrap();
    let joined = (0..100).any(|_| {
        sleep(50);
        status()["tasks"][0]["members"][0]["tid"].is_u64()
    });
    assert!(joined, "it does not join");
    child
}

#[test]
fn tasks_that_nobody_confirms_go() {
    DEFAULT.run(|| {
        let unconfirmed = |policy| {
            apply_with("--confirm 1s", policy)
                .says(&["not confirmed", "is restored"])
                .ends_with(1);
        };
        unconfirmed(TWO);
        assert_eq!(status()["beats"], Value::Null);
        assert_no_trace();

        apply(TWO).ok();
        unconfirmed(OTHER);
        assert_eq!(names(&status()), ["keeps", "overruns"]);
        unconfirmed(NO_TASKS);
        assert_eq!(names(&status()), ["keeps", "overruns"]);
        assert_eq!(status()["links"], Value::Array(Vec::new()));
        takt("revert").ok();

        // A thread that joined without a policy is not sent away.
        let mut program = start_ad_hoc();
        let before = status();
        assert_eq!(before["tasks"][0]["ad_hoc_uid"], 0, "{before:#}");
        unconfirmed(OTHER);
        let after = status();
        assert_eq!(names(&after), names(&before));
        assert_eq!(after["tasks"][0]["members"], before["tasks"][0]["members"]);
        takt("status --tasks")
            .says(&["no policy", "joined at run time, for user 0"])
            .ok();
        run(&format!("kill {}", program.id())).ok();
        program.wait().unwrap();
        takt("revert").ok();
        assert_no_trace();
    });
}

/// The way an administrator does it; the kernel needs a moment.
pub fn end_scheduler() {
    fs::write("/proc/sysrq-trigger", "S").unwrap();
    for _ in 0..100 {
        let state = fs::read_to_string("/sys/kernel/sched_ext/state").unwrap();
        if state.trim() == "disabled" {
            // This end is the test's own: what it asserts later is about others.
            run("dmesg -c").ok();
            return;
        }
        sleep(20);
    }
    panic!("the scheduler does not end");
}

fn survives_its_end() {
    let why = "the kernel ended the scheduler of beats: disabled by sysrq-S";
    apply(TWO).ok();
    let member = Member::start("keeps", Duration::from_millis(1));
    sleep(100);
    end_scheduler();
    let said = takt("status").says(&["beats  ended", why, "`takt apply`"]);
    assert_eq!(said.ends_with(4).stdout.lines().count(), 2);
    let status = takt("status --output json").ends_with(4).json();
    assert_eq!(status["beats"]["running"], false);
    assert_eq!(status["beats"]["ended"]["reason"], "disabled by sysrq-S");
    assert!(number(&status["tasks"][0], "started") > 0);
    assert_eq!(status["tasks"][0]["members"][0]["tid"], Value::Null);
    takt("run --period 40ms --budget 1ms -- true")
        .says(&[why, "`takt apply`"])
        .ends_with(4);

    apply_with("--dry-run", TWO).says(&["would be loaded"]).ok();
    takt("status").ends_with(4);
    apply(TWO).says(&["the scheduler is loaded, 2 tasks"]).ok();
    sleep(200);
    let status = self::status();
    assert!(number(&status["tasks"][0], "started") > 0, "{status:#}");
    member.end();

    end_scheduler();
    apply(NO_TASKS)
        .says(&["beats: the scheduler is unloaded\n"])
        .ok();
    assert_eq!(self::status()["beats"], Value::Null);
    takt("revert").ok();
    assert_no_trace();

    apply(TWO).ok();
    end_scheduler();
    takt("revert")
        .says(&["beats: the scheduler is unloaded"])
        .ok();
    assert_no_trace();
}

#[test]
fn a_scheduler_that_the_kernel_ended_is_loaded_anew() {
    DEFAULT.run(|| {
        run("ip link set lo up").ok();
        survives_its_end();
    });
}

#[test]
fn so_it_is_on_the_newest_kernel() {
    NEWEST.run(|| {
        run("ip link set lo up").ok();
        survives_its_end();
    });
}

#[test]
fn doctor_tries_the_scheduler() {
    DEFAULT.run(|| {
        takt("doctor").says(&["works    beats"]).ok();
        assert_no_trace();
        apply(OTHER).ok();
        takt("doctor").says(&["works    beats"]).ok();
        takt("revert").ok();
    });
}

#[test]
fn doctor_says_what_old_kernels_lack() {
    on_old_kernels(|| {
        let lacks = "this kernel lacks schedulers written in BPF";
        takt("doctor")
            .says(&["missing  beats", lacks, "6.16"])
            .ends_with(3);
        apply_with("--dry-run", TWO).says(&[lacks]).ends_with(3);
        apply(TWO).says(&[lacks]).ends_with(3);
        assert_no_trace();
    });
}

/// Without its pins and records, takt's scheduler is a foreign one.
#[test]
fn another_scheduler_is_named() {
    DEFAULT.alone().run(|| {
        let hide = || {
            run("mv /sys/fs/bpf/takt-beats /sys/fs/bpf/elsewhere").ok();
            run("mv /run/takt /run/elsewhere").ok();
        };
        let show = || {
            run("mv /sys/fs/bpf/elsewhere /sys/fs/bpf/takt-beats").ok();
            run("mv /run/elsewhere /run/takt").ok();
        };
        apply(TWO).ok();
        hide();
        let why = "the scheduler takt is loaded";
        takt("doctor").says(&["missing  beats", why]).ends_with(3);
        apply_with("--dry-run", OTHER).says(&[why]).ends_with(4);
        apply(OTHER).says(&[why]).ends_with(4);
        takt("status").says(&["no links are managed"]).ok();
        show();
        assert_eq!(names(&status()), ["keeps", "overruns"]);
        takt("revert").ok();
        assert_no_trace();
    });
}
