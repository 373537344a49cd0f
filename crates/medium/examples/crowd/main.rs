//! The figures of `docs/crowd-law.md`, as `docs/crowd-law.generated.md`.
//!
//!     cargo run --release -p takt-medium --example crowd >docs/crowd-law.generated.md

mod cell;
mod figures;
mod takt;
mod tcp;

use takt_medium::{Profile, theory::Saturation};

use cell::Setup;
use figures::{Figures, cubic, fixed, with_standing, with_takt};

const SETUP: Setup = Setup {
    terminals: 10,
    delay_ns: 16_000_000,
    loss_ppm: 0,
    access_frames: 100,
    rate: 7,
    last_begins_ns: 0,
    warm_ns: 10_000_000_000,
    measured_ns: 30_000_000_000,
};

fn main() {
    println!("# Figures of the crowd's law");
    println!(
        "\nMade by `cargo run --release -p takt-medium --example crowd`; what they mean is in"
    );
    println!("[crowd-law.md](crowd-law.md). A model of TCP on the emulated WLAN, not a kernel:");
    println!(
        "802.11g, every terminal uploads one flow, 30 s after 10 s, goodput in Mbit/s, times in"
    );
    println!("ms, 100 frames of queue at the access point.");
    let only = std::env::args().nth(1);
    let parts: [(&str, fn()); 7] = [
        ("window", by_window),
        ("standing", by_standing),
        ("delay", by_delay),
        ("start", by_start),
        ("loss", by_loss),
        ("rate", by_rate),
        ("beside", beside_cubic),
    ];
    for (name, part) in parts {
        if only.as_ref().is_none_or(|only| only == name) {
            part();
        }
    }
}

fn heading(title: &str) {
    println!("\n## {title}\n");
    println!(
        "| case | CUBIC | Takt | of one alone | Jain CUBIC | Takt | RTT p50 CUBIC | Takt | p99 CUBIC | Takt | bar | W's unrest |"
    );
    println!("|---{}|", "|--:".repeat(11));
}

fn row(name: &str, setup: Setup) {
    let alone = cubic(Setup {
        terminals: 1,
        loss_ppm: 0,
        ..setup
    });
    let (other, own) = (cubic(setup), with_takt(setup, setup.terminals));
    println!(
        "| {name} | {:.2} | {:.2} | {:.1} % | {:.3} | {:.3} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {} |",
        other.total(),
        own.total(),
        own.total() / alone.total() * 100.0,
        other.jain(),
        own.jain(),
        other.rtt_ms(0.5),
        own.rtt_ms(0.5),
        other.rtt_ms(0.99),
        own.rtt_ms(0.99),
        bar_ms(setup),
        unrest(&own),
    );
}

/// It stays zero if slow start did not have to end.
fn unrest(figures: &Figures) -> String {
    match figures.unrest.is_nan() {
        true => "no bound".to_owned(),
        false => format!("{:.1} %", figures.unrest * 100.0),
    }
}

/// One and a half times the wire and one frame and one acknowledgement that wait for their
/// turns among terminals and an access point that always have frames.
fn bar_ms(setup: Setup) -> f64 {
    let saturation = Saturation::new(Profile::dot11g(), setup.rate, 1514);
    let senders = setup.terminals as u32 + 1;
    let turn_ms = 1514.0 * 8.0 / saturation.standard_bps(senders) * f64::from(senders) * 1e3;
    1.5 * (setup.delay_ns as f64 / 1e6 + 2.0 * turn_ms)
}

fn by_window() {
    println!("\n## Fixed windows, ten terminals, 16 ms\n");
    println!("| W | total | RTT p50 | p99 |");
    println!("|--:|--:|--:|--:|");
    for window in [2, 3, 4, 5, 6, 8, 16, 32, 64] {
        let figures = fixed(SETUP, f64::from(window));
        let (p50, p99) = (figures.rtt_ms(0.5), figures.rtt_ms(0.99));
        println!(
            "| {window} | {:.2} | {p50:.1} | {p99:.1} |",
            figures.total()
        );
    }
}

fn by_standing() {
    println!("\n## What all keep in queues together (s), ten terminals\n");
    println!("| s | 16 ms | RTT p99 | 64 ms | RTT p99 | 16 ms, 1 % loss | 64 ms, 1 % loss |");
    println!("|--:|--:|--:|--:|--:|--:|--:|");
    for standing in [4, 6, 8] {
        let run = |delay_ns, loss_ppm| {
            let setup = Setup {
                delay_ns,
                loss_ppm,
                ..SETUP
            };
            with_standing(setup, setup.terminals, standing)
        };
        let (near, far) = (run(16_000_000, 0), run(64_000_000, 0));
        println!(
            "| {standing} | {:.2} | {:.1} | {:.2} | {:.1} | {:.2} | {:.2} |",
            near.total(),
            near.rtt_ms(0.99),
            far.total(),
            far.rtt_ms(0.99),
            run(16_000_000, 10_000).total(),
            run(64_000_000, 10_000).total(),
        );
    }
}

fn by_delay() {
    heading("Terminals and wired delay");
    for delay_ms in [0, 16, 64, 128, 256] {
        for terminals in [1, 2, 5, 10, 20] {
            let setup = Setup {
                terminals,
                delay_ns: delay_ms * 1_000_000,
                ..SETUP
            };
            row(&format!("{delay_ms} ms, n = {terminals}"), setup);
        }
    }
}

fn by_start() {
    heading("The first six seconds");
    for delay_ms in [16, 64, 256] {
        for terminals in [1, 10] {
            let setup = Setup {
                terminals,
                delay_ns: delay_ms * 1_000_000,
                warm_ns: 0,
                measured_ns: 6_000_000_000,
                ..SETUP
            };
            row(&format!("{delay_ms} ms, n = {terminals}"), setup);
        }
    }
}

fn by_loss() {
    heading("Random loss on the wire, 16 ms");
    for terminals in [1, 2, 5, 10] {
        for loss_ppm in [5_000, 10_000, 20_000] {
            let setup = Setup {
                terminals,
                loss_ppm,
                ..SETUP
            };
            row(
                &format!("{} %, n = {terminals}", f64::from(loss_ppm) / 1e4),
                setup,
            );
        }
    }
}

fn by_rate() {
    heading("Rate of all, 16 ms, ten terminals");
    for (rate, mbps) in [(0, 6), (2, 12), (4, 24), (7, 54)] {
        row(&format!("{mbps} Mbit/s"), Setup { rate, ..SETUP });
    }
}

fn beside_cubic() {
    println!("\n## All but one with Takt, the last with CUBIC, 16 ms\n");
    println!("Shares are of an equal part of the total.\n");
    println!("| case | total | CUBIC's share | least share of Takt | RTT p99 |");
    println!("|---|--:|--:|--:|--:|");
    for (last_begins_ns, when) in [(0, "from the start"), (9_000_000_000, "comes later")] {
        for terminals in [2, 5, 10] {
            let setup = Setup {
                terminals,
                last_begins_ns,
                ..SETUP
            };
            let figures: Figures = with_takt(setup, terminals - 1);
            let equal = figures.total() / terminals as f64;
            let least = figures.rates[..terminals - 1]
                .iter()
                .copied()
                .fold(f64::MAX, f64::min);
            println!(
                "| {when}, n = {terminals} | {:.2} | {:.2} | {:.2} | {:.1} |",
                figures.total(),
                figures.rates[terminals - 1] / equal,
                least / equal,
                figures.rtt_ms(0.99),
            );
        }
    }
}
