//! What the decisions about a packet cost, in nanoseconds of the processor's time: `algo/`'s as it
//! is enqueued and dequeued, without a simulator around them; and beside it those of a binary heap
//! with as many clocks.
//!
//! `cargo bench -p takt-sim --bench decisions`; a name behind it chooses. Where valgrind is
//! installed, it also prints how many instructions they take.

#[path = "common/cpu.rs"]
mod cpu;
#[path = "common/heap.rs"]
mod heap;

use std::{
    env,
    hint::black_box,
    process::{Command, Stdio},
    time::Duration,
};

use heap::Heap;
use takt_algo::sys::takt_key;
use takt_sim::{Answer, Flow, Loss, Packet, Qdisc, Setup, qdisc::Takt};

const BYTES: u32 = 1514;
/// So fast that no queue stands for as long as CoDel minds.
const LINK_BPS: u64 = 100_000_000_000;
/// Longer than a frame takes.
const PAUSE_NS: u64 = 10_000;
/// Asks this program to run a case so often, and nothing else.
const COUNT: &str = "TAKT_COUNT";
const COUNTED: u64 = 20_000;

/// A link with packets of every flow, or without any.
struct Case {
    name: &'static str,
    /// The link's classes.
    classes: Vec<String>,
    flows: u32,
    /// Of each flow; 0: a packet finds an empty link.
    backlog: u32,
}

fn numbered(count: u32, class: &str) -> Vec<String> {
    let one = |port| format!("name = \"c{port}\"\n{class}\nmatch = {{ dst_port = {port} }}");
    (0..count).map(one).collect()
}

fn cases() -> Vec<Case> {
    let case = |name, classes, flows, backlog| Case {
        name,
        classes,
        flows,
        backlog,
    };
    let shares = "aqm = \"codel\"";
    let rate = "rate = \"40mbit\"";
    let per_flow = |rate| {
        format!("name = \"c\"\nper_flow = true\nrate = \"{rate}\"\nmatch = {{ proto = \"udp\" }}")
    };
    let turns = "name = \"default\"\naqm = \"fq_codel\"\nqueue_packets = 65535";
    let mut cases = vec![
        case("free-link", numbered(1, shares), 1, 0),
        case("1-class", numbered(1, shares), 1, 8),
        case("10-shares", numbered(10, shares), 10, 8),
        case("100-shares", numbered(100, shares), 100, 8),
        case("10-clocks", numbered(10, rate), 10, 8),
        case("100-clocks", numbered(100, rate), 100, 8),
    ];
    for (name, flows) in [
        ("100-flows-in-turns", 100),
        ("10000-flows-in-turns", 10_000),
    ] {
        cases.push(case(name, vec![turns.to_owned()], flows, 2));
    }
    for (name, flows, rate) in [
        ("100-flows-with-clocks", 100, "500mbit"),
        ("10000-flows-with-clocks", 10_000, "5mbit"),
    ] {
        cases.push(case(name, vec![per_flow(rate)], flows, 2));
    }
    cases
}

impl Case {
    fn setup(&self) -> Setup {
        let mut policy = format!("[link.eth0]\nrate = \"{LINK_BPS}bit\"\n");
        for class in &self.classes {
            policy += &format!("[[link.eth0.class]]\n{class}\n");
        }
        let ports = self.classes.len() as u32 - 1;
        let traffic = format!(
            "[[source]]\nname = \"all\"\nkind = \"backlog\"\nflows = {}\nforwarded = true\n\
             headers = {{ proto = \"udp\", dst_port = \"0-{ports}\", src = \"10.0.0.0/8\" }}\n",
            self.flows
        );
        let policy = takt_policy::parse("policy", &policy).expect("a policy");
        let traffic = takt_policy::traffic::parse("traffic", &traffic).expect("traffic");
        Setup::new(&policy, "policy", None, &traffic).expect("a setup")
    }

    /// With Takt, or with a heap.
    fn prepare(&self, has_heap: bool) -> Bench {
        let setup = self.setup();
        let qdisc: Box<dyn Qdisc> = if has_heap {
            let flow_bps = LINK_BPS / u64::from(self.flows);
            Box::new(Heap::new(LINK_BPS, flow_bps, self.flows as usize, 0))
        } else {
            Box::new(Takt::new(setup.tables.clone()))
        };
        let mut bench = Bench {
            qdisc,
            flows: setup.flows,
            losses: Vec::new(),
            now_ns: 1_000_000_000,
            is_free: self.backlog == 0,
        };
        for _ in 0..self.backlog {
            for flow in 0..self.flows {
                bench.enqueue(flow);
            }
        }
        bench
    }
}

struct Bench {
    qdisc: Box<dyn Qdisc>,
    flows: Vec<Flow>,
    losses: Vec<Loss>,
    now_ns: u64,
    is_free: bool,
}

impl Bench {
    fn enqueue(&mut self, flow: u32) {
        let packet = Packet {
            flow,
            bytes: BYTES,
            arrived_ns: self.now_ns,
            ..Packet::default()
        };
        let of = &self.flows[flow as usize];
        self.qdisc
            .enqueue(packet, of, self.now_ns, &mut self.losses);
    }

    /// A packet leaves, and another of its flow comes; on a free link, the other way round.
    fn step(&mut self) {
        if self.is_free {
            self.now_ns += PAUSE_NS;
            self.enqueue(0);
        }
        let flow = loop {
            match self.qdisc.dequeue(self.now_ns, &mut self.losses) {
                Answer::Packet { packet, .. } => break packet.flow,
                Answer::Wait { until_ns } => self.now_ns = until_ns,
                Answer::Gap { .. } | Answer::Empty => panic!("there are packets, and no gaps"),
            }
        };
        assert!(self.losses.is_empty(), "no queue is full, and none stands");
        if !self.is_free {
            self.enqueue(flow);
        }
    }
}

fn main() {
    if let Ok(asked) = env::var(COUNT) {
        return count(&asked);
    }
    let mut criterion = cpu::criterion()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .configure_from_args();
    for case in cases() {
        let mut group = criterion.benchmark_group(case.name);
        for (name, has_heap) in [("takt", false), ("heap", true)] {
            let mut bench = case.prepare(has_heap);
            group.bench_function(name, |bencher| bencher.iter(|| bench.step()));
        }
        group.finish();
    }
    let mut classify = criterion.benchmark_group("class-by-headers");
    for (name, count) in [("1-rule", 1), ("100-rules", 100)] {
        let case = Case {
            name,
            classes: numbered(count, ""),
            flows: count,
            backlog: 0,
        };
        let setup = case.setup();
        let key: takt_key = setup.flows[setup.flows.len() - 1].key;
        classify.bench_function(name, |bencher| {
            bencher.iter(|| takt_algo::Port::class_by_headers(&setup.tables, black_box(&key)));
        });
    }
    classify.finish();
    criterion.final_summary();
    instructions();
}

/// Runs a case, `NAME/SCHEDULER/STEPS`.
fn count(asked: &str) {
    let parts: Vec<&str> = asked.split('/').collect();
    let [name, scheduler, steps] = parts.as_slice() else {
        panic!("{COUNT}={asked}");
    };
    let cases = cases();
    let case = cases.iter().find(|case| case.name == *name);
    let mut bench = case.expect("a case").prepare(*scheduler == "heap");
    for _ in 0..steps.parse().expect("a number") {
        bench.step();
    }
}

/// Prints instructions for each packet: of twice as many packets less those of once.
fn instructions() {
    // Cargo's own arguments are not names of benchmarks.
    let chosen: Vec<String> = env::args()
        .skip(1)
        .filter(|arg| !arg.starts_with('-'))
        .collect();
    let is_there = Command::new("valgrind")
        .arg("--version")
        .stdout(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !is_there {
        println!("instructions for each packet: valgrind, which counts them, is not installed");
        return;
    }
    println!("instructions for each packet (callgrind):");
    println!("{:<28}{:>8}{:>8}", "", "takt", "heap");
    for case in cases() {
        let is_chosen = |name: &String| case.name.contains(name.as_str());
        if !chosen.is_empty() && !chosen.iter().any(is_chosen) {
            continue;
        }
        let of = |scheduler: &str| {
            let [once, twice] = [1, 2].map(|times| counted(case.name, scheduler, COUNTED * times));
            (twice - once) / COUNTED
        };
        println!("{:<28}{:>8}{:>8}", case.name, of("takt"), of("heap"));
    }
}

fn counted(name: &str, scheduler: &str, steps: u64) -> u64 {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(env::current_exe().expect("this program"))
        .env(COUNT, format!("{name}/{scheduler}/{steps}"))
        .output()
        .expect("valgrind starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    let line = said.lines().find_map(|line| line.split_once("Collected :"));
    let (_, number) = line.unwrap_or_else(|| panic!("no count: {said}"));
    number.trim().parse().expect("a number")
}
