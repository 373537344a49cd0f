//! The effect that SoCPS is about, on the medium alone: one station with a weak signal, FIFO
//! against a weight for it.

use takt_medium::{
    Action, Fading, Frame, Input, Medium, NodeId, Profile, Receiver, SnrPath,
    sim::{
        Station, Traffic,
        runs::{OneBad, papers_weight_ppm, total_bps},
    },
};

fn at_three_db(profile: Profile, stations: u16, traffic: Traffic) -> OneBad {
    OneBad {
        profile,
        stations,
        bad_snr_centidb: 300,
        traffic,
        seconds: 300,
        seed: 3,
    }
}

fn gain(run: &OneBad) -> f64 {
    let weighted = run.weighted(papers_weight_ppm(run.bad_snr_centidb));
    total_bps(&weighted) / total_bps(&run.fifo()) - 1.0
}

#[test]
fn the_papers_weights() {
    let weights = [-100, 0, 300, 400, 700, 1000, 1400, 9900].map(papers_weight_ppm);
    assert_eq!(
        weights,
        [
            0, 0, 150_000, 200_000, 500_000, 800_000, 1_000_000, 1_000_000
        ]
    );
}

/// The air time of a bad station's retries is lost for all others.
#[test]
fn leaving_a_bad_station_out_raises_the_total() {
    for stations in [2, 4, 6, 8] {
        let run = at_three_db(Profile::wavelan(), stations, Traffic::cbr_1m5());
        assert!(gain(&run) > 0.5, "{stations}: {}", gain(&run));
    }
}

/// Without retries a lost frame takes no longer than another, so only the bad station's share
/// can be gained, one part in eight at most.
#[test]
fn without_retries_there_is_no_more_to_win_than_its_share() {
    let run = at_three_db(Profile::wavelan_classic(), 8, Traffic::cbr_1m5());
    assert!(
        (0.08..8.0 / 7.0 - 1.0).contains(&gain(&run)),
        "{}",
        gain(&run)
    );
}

#[test]
fn retries_for_one_cost_the_others_their_voice() {
    let run = at_three_db(Profile::wavelan(), 8, Traffic::voip());
    let worst = |stations: &[Station]| stations[1..].iter().map(Station::loss).fold(0.0, f64::max);
    let (fifo, weighted) = (run.fifo(), run.weighted(150_000));
    assert!(
        worst(&fifo) > 0.05 && worst(&weighted) < 0.01,
        "{} {}",
        worst(&fifo),
        worst(&weighted)
    );
    // Nor do they wait long: only their own packets are queued before them.
    let delay_ns = weighted[1].delay_ns(990).unwrap();
    assert!(delay_ns < fifo[1].delay_ns(500).unwrap(), "{delay_ns}");
}

/// Loss by SNR follows SoCPS's weights, from nothing above 14 dB to nearly all at 0 dB.
#[test]
fn wavelans_losses_go_through_the_papers_points() {
    let profile = Profile::wavelan();
    let fading = profile.fading.unwrap();
    let arrives = |snr_db| 1.0 - fading.mean_frame_error_rate(&profile.rates[0], snr_db, 1536);
    for (snr_db, expected) in [(0.0, 0.0), (4.0, 0.2), (10.0, 0.8), (14.0, 1.0)] {
        let arrives: f64 = arrives(snr_db);
        assert!((arrives - expected).abs() < 0.04, "{snr_db}: {arrives}");
    }
}

/// Throughput in bit/s of a bad and a good station that get `run` frames in turn, the bad one
/// at 10 dB.
fn in_runs_of(run: u64, coherence_ns: u64) -> f64 {
    const DURATION_NS: u64 = 600_000_000_000;
    const BYTES: u32 = 1514;
    let fading = Fading {
        deviation_db: 3.6,
        coherence_ns,
    };
    let mut medium = Medium::new(
        Profile {
            fading: Some(fading),
            ..Profile::wavelan()
        },
        1,
    );
    let stations = [1000, 2500].map(|snr| medium.add_station(SnrPath::constant(snr)));
    let (mut now_ns, mut delivered) = (0, 0u64);
    for token in 0.. {
        let to = Receiver::Node(stations[(token / run % 2) as usize]);
        let frame = Frame {
            token,
            bytes: BYTES,
            to,
        };
        let from: NodeId = Medium::ACCESS_POINT;
        medium
            .handle(now_ns, Input::Transmit { from, frame })
            .unwrap();
        while let Some(wake_ns) = medium.wake_ns() {
            now_ns = wake_ns;
            while let Some(action) = medium.poll(now_ns) {
                delivered += u64::from(matches!(action, Action::Deliver { .. }));
            }
        }
        if now_ns > DURATION_NS {
            break;
        }
    }
    (delivered * u64::from(BYTES) * 8) as f64 / (now_ns as f64 / 1e9)
}

/// Why FIFO can be slightly above a fair order: where fades last longer than frames, successive
/// frames of one station have the same luck. FIFO has such runs, a fair order has none.
#[test]
fn runs_of_frames_profit_from_fades_that_last() {
    let gain = |coherence_ns| in_runs_of(4, coherence_ns) / in_runs_of(1, coherence_ns) - 1.0;
    let (lasting, short) = (gain(35_000_000), gain(10_000));
    assert!((0.005..0.05).contains(&lasting), "{lasting}");
    assert!(short.abs() < 0.004, "{short}");
}
