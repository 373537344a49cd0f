//! Rate controls, and aggregates.

use takt_medium::{
    Aggregation, Profile, RateChoice,
    rate_control::{Amrr, Arf, Chain, Minstrel},
    sim::runs::{Uploads, saturated, total_bps},
    theory::Saturation,
};

use crate::{BYTES, columns, heading, kbps, off};

const FASTEST: usize = 7;

fn controls() -> [(&'static str, RateChoice); 10] {
    let every_second = Profile::phones_2011().rate_choice;
    [
        ("fixed, 54 Mbit/s", RateChoice::Fixed(FASTEST)),
        (
            "chain, 2 tries each",
            RateChoice::Chain(Chain::down_from(FASTEST, 2)),
        ),
        (
            "chain, 1 try each",
            RateChoice::Chain(Chain::down_from(FASTEST, 1)),
        ),
        ("AMRR, net80211", RateChoice::Amrr(Amrr::NET80211)),
        ("AMRR, once a second", every_second),
        ("AMRR, MadWifi", RateChoice::Amrr(Amrr::MADWIFI)),
        ("ARF", RateChoice::Arf(Arf::WAVELAN_II)),
        ("ARF 10/4", RateChoice::Arf(Arf::TUNED)),
        ("minstrel", RateChoice::Minstrel(Minstrel::LEGACY)),
        (
            "minstrel, 50 ms",
            RateChoice::Minstrel(Minstrel::LEGACY_50_MS),
        ),
    ]
}

fn uploads(profile: Profile, choice: RateChoice, stations: u16, snr_centidb: i32) -> f64 {
    let uploads = Uploads {
        profile,
        choice,
        stations,
        snr_centidb,
        seconds: 30,
        seed: 1,
    };
    uploads
        .run()
        .iter()
        .map(|(station, _)| station.throughput_bps())
        .sum()
}

/// Totals of stations that lose frames by collisions only.
pub fn collapse() {
    heading("Uploads under rate controls, 35 ± 3.6 dB");
    let stations = [1, 2, 3, 5, 10];
    columns(&["Control", "1 station", "2", "3", "5", "10"]);
    let row = |name: &str, profile: Profile, choice| {
        let total = |&stations| kbps(uploads(profile.clone(), choice, stations, 3500));
        let totals: Vec<String> = stations.iter().map(total).collect();
        println!("| {name} | {} |", totals.join(" | "));
    };
    for (name, choice) in controls() {
        row(name, Profile::phones_2011(), choice);
    }
    for profile in [Profile::today(), Profile::today_ac()] {
        let fixed = RateChoice::Fixed(profile.rates.len() - 1);
        row(&format!("{}, fixed", profile.name), profile.clone(), fixed);
        let minstrel = profile.rate_choice;
        row(&format!("{}, minstrel", profile.name), profile, minstrel);
    }
}

/// One station, against the best fixed rate.
pub fn by_snr() {
    heading("One upload under rate controls by mean SNR, ± 3.6 dB");
    let snrs_db = [4, 8, 12, 16, 20, 24, 28, 32];
    let names: Vec<String> = snrs_db
        .iter()
        .map(|snr_db| format!("{snr_db} dB"))
        .collect();
    let mut head = vec!["Control"];
    head.extend(names.iter().map(String::as_str));
    columns(&head);
    let row = |name: &str, total: &dyn Fn(i32) -> f64| {
        let totals: Vec<String> = snrs_db.iter().map(|&snr| kbps(total(snr * 100))).collect();
        println!("| {name} | {} |", totals.join(" | "));
    };
    let total = |choice, snr| uploads(Profile::phones_2011(), choice, 1, snr);
    row("best fixed rate", &|snr| {
        let fixed = (0..=FASTEST).map(|rate| total(RateChoice::Fixed(rate), snr));
        fixed.fold(0.0, f64::max)
    });
    row("by SNR", &|snr| total(RateChoice::BySnr, snr));
    for (name, choice) in &controls()[3..] {
        row(name, &|snr| total(*choice, snr));
    }
}

pub fn aggregates() {
    heading("Aggregates, 802.11n at 65 Mbit/s");
    columns(&["Frames", "n", "Formula, kbit/s", "Measured", "Off"]);
    for frames_max in [1, 2, 8, 20, 64] {
        let mut profile = Profile::today();
        profile.aggregation = profile.aggregation.map(|aggregation| Aggregation {
            frames_max,
            bytes_max: u32::MAX,
            duration_max_ns: u64::MAX,
            ..aggregation
        });
        let model = Saturation::of_aggregates(profile.clone(), FASTEST, BYTES, frames_max);
        for stations in [1, 2, 5, 10] {
            let expected = match stations {
                1 => model.alone_bps(),
                _ => model.standard_bps(stations),
            };
            let rates = vec![FASTEST; stations as usize];
            let measured = total_bps(&saturated(&profile, &rates, BYTES, 120));
            println!(
                "| {frames_max} | {stations} | {} | {} | {} |",
                kbps(expected),
                kbps(measured),
                off(measured, expected)
            );
        }
    }
}
