//! SoCPS's figures 11 to 21 in the simulator, with their statistics, as `docs/socps.generated.md`:
//!
//! ```sh
//! cargo run --release -p takt-sim --example socps > docs/socps.generated.md
//! ```
//!
//! With names behind it, only those sections.

mod cell;
mod figures;
mod filter;
mod filters;
mod media;
mod paper;
#[path = "../experiments/parallel.rs"]
mod parallel;
mod table;
mod walk;

use std::env;

/// By name, for a part of the page.
const SECTIONS: [(&str, fn()); 6] = [
    ("card", paper::card_without_retries),
    ("figures", paper::figures),
    ("walks", paper::walks),
    ("dead-source", paper::dead_source),
    ("filters", filters::filters),
    ("media", media::media),
];

fn main() {
    println!("# SoCPS's figures, simulated");
    println!(
        "\nMade by `cargo run --release -p takt-sim --example socps`. What runs is in \
         [sim.md](sim.md), the air in\n[medium.md](medium.md). Each figure is the mean of five \
         seeds and half of its 95 % interval\n(Student). A seed draws fades, when sources begin, \
         where the walk begins, and moments of packets."
    );
    let names: Vec<String> = env::args().skip(1).collect();
    let is_wanted = |name: &str| names.is_empty() || names.iter().any(|one| one == name);
    for (_, print) in SECTIONS.iter().filter(|(name, _)| is_wanted(name)) {
        print();
    }
}
