//! Which assumptions of the medium decide the gain.

use takt_medium::{
    ErrorModel, Fading, Profile, RateChoice,
    sim::{
        Traffic,
        runs::{OneBad, papers_weight_ppm, total_bps},
    },
};

use crate::{
    columns, heading, kbps,
    one_bad::{gain, good_loss, one_bad},
};

/// The assumptions: attempts, coherence, deviation and gain of the receiver.
pub fn decisive() {
    heading("8 stations, one at 3 dB: wavelan, but");
    columns(&[
        "Changed",
        "FIFO, kbit/s",
        "PW, kbit/s",
        "Gain",
        "VoIP loss good: FIFO, %",
        "PW, %",
    ]);
    let base = Profile::wavelan;
    let attempts = |limit| Profile {
        attempts_max: Some(limit),
        ..base()
    };
    let faded = |deviation_db, coherence_ms: u64| {
        let fading = Fading {
            deviation_db,
            coherence_ns: coherence_ms * 1_000_000,
        };
        Profile {
            fading: Some(fading),
            ..base()
        }
    };
    let gained = |gain_db| {
        let mut profile = base();
        profile.rates[0].errors = ErrorModel::Psk { gain_db };
        profile
    };
    let cases = [
        ("as it is".to_string(), base()),
        ("at most 1 attempt".into(), attempts(1)),
        ("2 attempts".into(), attempts(2)),
        ("3 attempts".into(), attempts(3)),
        ("4 attempts".into(), attempts(4)),
        (
            "no acknowledgements".into(),
            Profile {
                acknowledged: false,
                ..base()
            },
        ),
        (
            "before the standard (wavelan-classic)".into(),
            Profile::wavelan_classic(),
        ),
        ("coherence 1 ms".into(), faded(3.6, 1)),
        ("coherence 200 ms".into(), faded(3.6, 200)),
        ("coherence 1 s".into(), faded(3.6, 1000)),
        (
            "no fluctuation".into(),
            Profile {
                fading: None,
                ..base()
            },
        ),
        ("deviation 2 dB".into(), faded(2.0, 35)),
        ("deviation 6 dB".into(), faded(6.0, 35)),
        ("the paper's formula without gain".into(), gained(0.0)),
        ("gain 4 dB".into(), gained(4.0)),
        ("gain 8 dB".into(), gained(8.0)),
        ("802.11b, rate by SNR".into(), Profile::dot11b_long()),
        (
            "802.11b, 2 Mbit/s fixed".into(),
            fixed(Profile::dot11b_long(), 1),
        ),
        (
            "802.11b, 11 Mbit/s fixed".into(),
            fixed(Profile::dot11b_long(), 3),
        ),
    ];
    for (name, profile) in cases {
        let cbr = one_bad(&profile, 8, 3, Traffic::cbr_1m5());
        let voip = one_bad(&profile, 8, 3, Traffic::voip());
        let weight_ppm = papers_weight_ppm(300);
        let (fifo, pw) = (cbr.fifo(), cbr.weighted(weight_ppm));
        println!(
            "| {name} | {} | {} | {:+.0} % | {:.2} | {:.2} |",
            kbps(total_bps(&fifo)),
            kbps(total_bps(&pw)),
            gain(&fifo, &pw),
            good_loss(&voip.fifo()),
            good_loss(&voip.weighted(weight_ppm))
        );
    }
}

/// Where PW's weight is close to one: is its total ever below FIFO's?
pub fn below() {
    heading("PW against FIFO, total throughput, wavelan with another coherence");
    columns(&[
        "Coherence",
        "Stations",
        "8 dB",
        "9",
        "10",
        "11",
        "12",
        "13",
        "14",
        "15",
    ]);
    for coherence_us in [10, 1000, 10_000, 35_000, 200_000] {
        let fading = Fading {
            deviation_db: 3.6,
            coherence_ns: coherence_us * 1000,
        };
        let profile = Profile {
            fading: Some(fading),
            ..Profile::wavelan()
        };
        for stations in [2, 8] {
            print!("| {} ms | {stations} ", coherence_us as f64 / 1e3);
            for snr_db in 8..=15 {
                let run = one_bad(&profile, stations, snr_db, Traffic::cbr_1m5());
                let run = OneBad {
                    seconds: 1800,
                    ..run
                };
                let pw = run.weighted(papers_weight_ppm(snr_db * 100));
                print!("| {:+.2} % ", gain(&run.fifo(), &pw));
            }
            println!("|");
        }
    }
}

fn fixed(profile: Profile, rate: usize) -> Profile {
    Profile {
        rate_choice: RateChoice::Fixed(rate),
        ..profile
    }
}
