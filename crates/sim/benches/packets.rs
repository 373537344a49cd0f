//! Simulated packets in a second of the processor's time, by the number of flows: Takt with one
//! queue, with flows in turns and with clocks for each flow, and beside it a binary heap, HTB,
//! fq_codel and fq.
//!
//! `cargo bench -p takt-sim --bench packets`; a name behind it chooses, such as `queue/1000`.

#[path = "common/cpu.rs"]
mod cpu;
#[path = "common/heap.rs"]
mod heap;
#[path = "common/link.rs"]
mod link;

use std::time::Duration;

use cpu::ProcessorTime;
use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use heap::Heap;
use link::{LINK_BPS, OVERHEAD_BYTES, duration_ns, setup};
use takt_sim::{
    Setup, Terms,
    qdisc::{Fq, FqCodel, FqCodelTerms, FqTerms, Htb, Qdisc, Takt},
};

const PACKETS: u64 = 2_000_000;
const MTU_BYTES: u32 = 1500;
const FLOWS: [u64; 4] = [100, 1_000, 10_000, 100_000];
const SCHEDULERS: [&str; 7] = ["queue", "turns", "clocks", "heap", "htb", "fq_codel", "fq"];

fn class(scheduler: &str) -> &'static str {
    match scheduler {
        "turns" => "name = \"default\"",
        "clocks" => {
            "name = \"flows\"\nper_flow = true\nrate = \"1gbit\"\nmatch = { proto = \"udp\" }"
        }
        _ => "name = \"default\"\nrate = \"100gbit\"\naqm = \"codel\"",
    }
}

fn qdisc(scheduler: &str, setup: &Setup, flows: u64) -> Box<dyn Qdisc> {
    match scheduler {
        "heap" => Box::new(Heap::new(
            LINK_BPS,
            1_000_000_000,
            flows as usize,
            OVERHEAD_BYTES,
        )),
        "htb" => Box::new(Htb::new(&takt_planner::tree::tree(
            &setup.link,
            &setup.ids,
            MTU_BYTES,
        ))),
        "fq_codel" => Box::new(FqCodel::new(FqCodelTerms::default())),
        "fq" => Box::new(Fq::new(FqTerms::default())),
        _ => Box::new(Takt::new(setup.tables.clone())),
    }
}

fn packets(criterion: &mut Criterion<ProcessorTime>) {
    for scheduler in SCHEDULERS {
        let mut group = criterion.benchmark_group(scheduler);
        group.throughput(Throughput::Elements(PACKETS));
        for flows in FLOWS {
            let setup = setup(flows, class(scheduler));
            let terms = Terms {
                seed: 1,
                duration_ns: duration_ns(PACKETS),
            };
            group.bench_function(BenchmarkId::from_parameter(flows), |bencher| {
                bencher.iter_batched_ref(
                    || qdisc(scheduler, &setup, flows),
                    |qdisc| takt_sim::run(&setup, "bench", &mut **qdisc, terms),
                    BatchSize::PerIteration,
                );
            });
        }
    }
}

criterion_group! {
    name = benches;
    config = cpu::criterion()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2));
    targets = packets
}
criterion_main!(benches);
