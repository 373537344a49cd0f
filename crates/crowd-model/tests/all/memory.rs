//! What a remembered capacity changes: in the first two seconds of a terminal that joins members
//! which have shared the air for half a minute, and where members begin beside a stranger.
//! docs/crowd.md has the figures, which
//! `cargo test --release -p takt-crowd-model --test all memory -- --show-output` prints.

use takt_crowd_model::{Setup, measure};

const S_NS: u64 = 1_000_000_000;
const JOINS_NS: u64 = 30 * S_NS;
const SEEDS: u64 = 5;
/// Three quarters of what the members get together.
const REMEMBERED_BYTES_PS: u64 = 2_150_000;
const ABSURD_BYTES_PS: u64 = u64::MAX;

/// The newcomer's rate over its share, and the 99th percentile of all round trips in ms: means of
/// the seeds.
fn first_seconds(terminals: usize, delay_ms: u64, remembered_bytes_ps: u64) -> (f64, f64) {
    let mut setup = Setup::uploads(terminals, delay_ms).with_members(terminals);
    let newcomer = &mut setup.terminals[terminals - 1];
    newcomer.flows[0].begins_ns = JOINS_NS;
    newcomer.remembered_bytes_ps = remembered_bytes_ps;
    let runs = (1..=SEEDS).map(|seed| {
        let figures = measure(&setup, seed, &[JOINS_NS, JOINS_NS + 2 * S_NS]);
        (figures[1].share(terminals - 1), figures[1].rtt_ms(0.99))
    });
    let (share, p99_ms) = runs.fold((0.0, 0.0), |sum, run| (sum.0 + run.0, sum.1 + run.1));
    (share / SEEDS as f64, p99_ms / SEEDS as f64)
}

#[test]
fn a_newcomer_gains_a_little_and_an_absurd_memory_does_no_harm() {
    for (terminals, delay_ms) in [(5, 16), (10, 16), (5, 64), (10, 64), (5, 256), (10, 256)] {
        let of = |remembered| first_seconds(terminals, delay_ms, remembered);
        let (without, with) = (of(0), of(REMEMBERED_BYTES_PS));
        let absurd = of(ABSURD_BYTES_PS);
        println!(
            "{terminals} terminals, {delay_ms} ms: rate over share {:.2} without, {:.2} with, {:.2} \
             with an absurd memory; p99 {:.1}, {:.1}, {:.1} ms",
            without.0, with.0, absurd.0, without.1, with.1, absurd.1
        );
        assert!(with.0 >= without.0, "{terminals}, {delay_ms}");
        assert!(with.1 <= without.1 * 1.05, "{terminals}, {delay_ms}");
        assert!(
            absurd.0 <= 1.5 * without.0.max(1.0),
            "{terminals}, {delay_ms}"
        );
        // It may hold as much as each of the others, which shared the air without it.
        let most = terminals as f64 / (terminals - 1) as f64;
        assert!(
            absurd.1 <= 1.05 * most * without.1,
            "{terminals}, {delay_ms}"
        );
    }
}

/// Nine members, whose drivers report no rates, begin half a second before a stranger, or half a
/// minute; the stranger's rate and that of all, in Mbit/s, from 10 to 30 s after it came: means of
/// the seeds. By rates on the air they would notice the stranger.
fn beside_a_stranger(delay_ms: u64, came_ns: u64, remembered_bytes_ps: u64) -> (f64, f64) {
    let mut setup = Setup::uploads(10, delay_ms).with_members(9);
    setup.reports_rates = false;
    for member in &mut setup.terminals[..9] {
        member.remembered_bytes_ps = remembered_bytes_ps;
    }
    setup.terminals[9].flows[0].begins_ns = came_ns;
    let runs = (1..=SEEDS).map(|seed| {
        let ends_ns = [came_ns + 10 * S_NS, came_ns + 30 * S_NS];
        let figures = measure(&setup, seed, &ends_ns);
        (figures[1].rates_mbps[9], figures[1].total_mbps())
    });
    let (own, all) = runs.fold((0.0, 0.0), |sum, run| (sum.0 + run.0, sum.1 + run.1));
    (own / SEEDS as f64, all / SEEDS as f64)
}

#[test]
fn members_that_begin_beside_a_stranger_keep_more() {
    for delay_ms in [16, 64, 256] {
        let new = |remembered| beside_a_stranger(delay_ms, S_NS / 2, remembered);
        let (without, with) = (new(0), new(REMEMBERED_BYTES_PS));
        let established = beside_a_stranger(delay_ms, JOINS_NS, 0);
        println!(
            "{delay_ms} ms: a stranger beside nine has {:.1} of {:.1} Mbit/s without, {:.1} of {:.1} \
             with; {:.1} of {:.1} beside those that were there before",
            without.0, without.1, with.0, with.1, established.0, established.1
        );
        // Over 256 ms the stranger takes seconds to grow, and members learn their capacity meanwhile.
        let part = match delay_ms {
            16 => 0.8,
            64 => 0.5,
            _ => 1.1,
        };
        assert!(with.0 < part * without.0, "{delay_ms}");
        assert!(with.1 > 0.95 * without.1, "{delay_ms}");
    }
}
