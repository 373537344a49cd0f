//! The figures of `docs/medium.md`, as `docs/medium.generated.md`.
//!
//!     cargo run --release -p takt-medium --example figures >docs/medium.generated.md

mod controls;
mod decisive;
mod laws;
mod one_bad;
mod station;
mod validation;

use takt_medium::Profile;

const BYTES: u32 = 1514;

fn main() {
    println!("# Figures of the emulated WLAN");
    println!(
        "\nMade by `cargo run --release -p takt-medium --example figures`; what they mean is in"
    );
    println!(
        "[medium.md](medium.md). Throughputs are of Ethernet frames of 1514 bytes, in kbit/s."
    );
    validation::alone();
    validation::many();
    validation::anomaly();
    station::loss();
    for profile in [Profile::wavelan(), Profile::wavelan_classic()] {
        one_bad::cbr(&profile);
        one_bad::voip(&profile);
    }
    decisive::decisive();
    decisive::below();
    station::moving();
    laws::laws();
    controls::collapse();
    controls::by_snr();
    controls::aggregates();
}

fn kbps(bps: f64) -> String {
    format!("{:.0}", bps / 1e3)
}

fn off(measured: f64, expected: f64) -> String {
    format!("{:+.2} %", (measured / expected - 1.0) * 100.0)
}

fn heading(title: &str) {
    println!("\n## {title}\n");
}

/// The head of a table: names on the left, figures on the right.
fn columns(names: &[&str]) {
    println!("| {} |", names.join(" | "));
    println!("|---{}|", "|--:".repeat(names.len() - 1));
}
