//! One bad station among good ones: FIFO, a fixed weight and PW's.

use takt_medium::{
    Profile,
    sim::{
        Station, Traffic,
        runs::{OneBad, papers_weight_ppm, total_bps},
    },
};

use crate::{columns, heading, kbps};

/// CBR of 1.5 Mbit/s to every station.
pub fn cbr(profile: &Profile) {
    heading(&format!(
        "{}: total of CBR under FIFO, w = 0.15 and PW, and gains over FIFO",
        profile.name
    ));
    columns(&["SNR, dB", "w (PW)", "2 stations", "4", "6", "8"]);
    for snr_db in 0..=15 {
        let weight_ppm = papers_weight_ppm(snr_db * 100);
        print!("| {snr_db} | {:.2} ", f64::from(weight_ppm) / 1e6);
        for stations in [2, 4, 6, 8] {
            let run = one_bad(profile, stations, snr_db, Traffic::cbr_1m5());
            let (fifo, fixed, pw) = (run.fifo(), run.weighted(150_000), run.weighted(weight_ppm));
            print!(
                "| {}, {} ({:+.1} %), {} ({:+.1} %) ",
                kbps(total_bps(&fifo)),
                kbps(total_bps(&fixed)),
                gain(&fifo, &fixed),
                kbps(total_bps(&pw)),
                gain(&fifo, &pw)
            );
        }
        println!("|");
    }
}

/// SoCPS's VoIP to 8 stations.
pub fn voip(profile: &Profile) {
    heading(&format!(
        "{}: loss of VoIP to 8 stations, in %",
        profile.name
    ));
    columns(&[
        "SNR, dB",
        "FIFO good",
        "FIFO bad",
        "FIFO airtime of the bad, %",
        "PW good",
        "PW bad",
    ]);
    for snr_db in 0..=15 {
        let run = one_bad(profile, 8, snr_db, Traffic::voip());
        let (fifo, pw) = (run.fifo(), run.weighted(papers_weight_ppm(snr_db * 100)));
        println!(
            "| {snr_db} | {:.2} | {:.1} | {:.0} | {:.2} | {:.1} |",
            good_loss(&fifo),
            fifo[0].loss() * 100.0,
            fifo[0].airtime_share() * 100.0,
            good_loss(&pw),
            pw[0].loss() * 100.0
        );
    }
}

pub fn one_bad(profile: &Profile, stations: u16, snr_db: i32, traffic: Traffic) -> OneBad {
    OneBad {
        profile: profile.clone(),
        stations,
        bad_snr_centidb: snr_db * 100,
        traffic,
        seconds: 900,
        seed: 1,
    }
}

pub fn gain(fifo: &[Station], weighted: &[Station]) -> f64 {
    (total_bps(weighted) / total_bps(fifo) - 1.0) * 100.0
}

pub fn good_loss(stations: &[Station]) -> f64 {
    let good = &stations[1..];
    100.0 * good.iter().map(Station::loss).sum::<f64>() / good.len().max(1) as f64
}
