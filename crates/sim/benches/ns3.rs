//! Simulated packets in a second beside ns-3's: the same flows, rates and lengths through the same
//! kinds of queues onto the same link, by ns3.cc.
//!
//! `cargo bench -p takt-sim --bench ns3`. It needs ns-3 with headers (Debian: libns3-dev and
//! libgsl-dev), a C++ compiler and pkg-config, and says so where one is missing.

#[path = "common/link.rs"]
mod link;

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use link::{duration_ns, setup};
use nix::time::{ClockId, clock_gettime};
use takt_sim::{
    Terms,
    qdisc::{Fifo, FqCodel, FqCodelTerms, Qdisc, Takt},
};

const FLOWS: [u64; 3] = [100, 1_000, 10_000];
/// ns-3 has a tenth of them: the figure is per second.
const PACKETS: u64 = 4_000_000;
const NS3_PACKETS: u64 = 400_000;
const ROUNDS: usize = 3;
const MODULES: [&str; 5] = [
    "ns3-core",
    "ns3-network",
    "ns3-internet",
    "ns3-point-to-point",
    "ns3-traffic-control",
];

fn main() {
    let program = match build() {
        Ok(program) => program,
        Err(missing) => {
            println!("not compared with ns-3: {missing}");
            return;
        }
    };
    println!("million packets in a second of the processor's time, the best of {ROUNDS} runs");
    println!(
        "{:>8}{:>10}{:>12}{:>8}{:>12}{:>12}{:>8}{:>8}",
        "flows", "fq_codel", "ns-3's", "times", "fifo", "ns-3's", "times", "takt"
    );
    for flows in FLOWS {
        let own = |make: fn(&takt_sim::Setup) -> Box<dyn Qdisc>| best(|| simulate(flows, make));
        let codel = own(|_| Box::new(FqCodel::new(FqCodelTerms::default())));
        let fifo = own(|_| Box::new(Fifo::new(1000)));
        let takt = own(|setup| Box::new(Takt::new(setup.tables.clone())));
        let theirs = |disc: &str| best(|| run(&program, disc, flows));
        let their_codel = theirs("ns3::FqCoDelQueueDisc");
        let their_fifo = theirs("ns3::FifoQueueDisc");
        println!(
            "{flows:>8}{codel:>10.2}{their_codel:>12.3}{:>8.1}{fifo:>12.2}{their_fifo:>12.3}{:>8.1}\
             {takt:>8.2}",
            codel / their_codel,
            fifo / their_fifo
        );
    }
}

fn best(run: impl Fn() -> f64) -> f64 {
    (0..ROUNDS).map(|_| run()).fold(0.0, f64::max)
}

fn simulate(flows: u64, make: fn(&takt_sim::Setup) -> Box<dyn Qdisc>) -> f64 {
    let setup = setup(flows, "name = \"default\"");
    let mut qdisc = make(&setup);
    let terms = Terms {
        seed: 1,
        duration_ns: duration_ns(PACKETS),
    };
    let began_s = processor_s();
    let outcome = takt_sim::run(&setup, "bench", &mut *qdisc, terms);
    outcome.delivered_packets as f64 / (processor_s() - began_s) / 1e6
}

fn processor_s() -> f64 {
    let time = clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).expect("every Linux has it");
    time.tv_sec() as f64 + time.tv_nsec() as f64 / 1e9
}

/// ns-3's program; else, what is missing.
fn build() -> Result<PathBuf, String> {
    let flags = output(
        Command::new("pkg-config")
            .args(["--cflags", "--libs"])
            .args(MODULES),
    );
    let flags = flags
        .map_err(|_| "pkg-config finds no ns-3 (Debian: libns3-dev, libgsl-dev)".to_owned())?;
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ns3");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/ns3.cc");
    let mut compiler = Command::new("c++");
    compiler.args(["-O3", "-std=c++17", "-DNDEBUG"]);
    compiler.arg(source).arg("-o").arg(&program);
    compiler.args(flags.split_whitespace());
    output(&mut compiler).map_err(|error| format!("ns3.cc is not compiled: {error}"))?;
    Ok(program)
}

fn run(program: &Path, disc: &str, flows: u64) -> f64 {
    let mut command = Command::new(program);
    command.args([disc, &flows.to_string(), &NS3_PACKETS.to_string()]);
    let said = output(&mut command).unwrap_or_else(|error| panic!("ns-3 failed: {error}"));
    let numbers: Vec<f64> = said.split_whitespace().flat_map(str::parse).collect();
    let [packets, seconds] = numbers.as_slice() else {
        panic!("ns-3 said {said}");
    };
    // A scenario that loses packets is another.
    let least = NS3_PACKETS as f64 * 0.98;
    assert!(
        (least..=NS3_PACKETS as f64 * 1.01).contains(packets),
        "{packets}"
    );
    packets / seconds / 1e6
}

fn output(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| error.to_string())?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}
