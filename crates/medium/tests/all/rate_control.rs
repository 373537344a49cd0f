//! Rate controls in the medium (`docs/medium.md`): collisions look like bad radio to some.

use takt_medium::{
    Direction, Frame, Input, Link, Medium, Outcome, Profile, RateChoice, Receiver, Refused,
    SnrPath,
    rate_control::{Amrr, Arf, Chain, Minstrel},
    sim::{
        Station, Traffic,
        runs::{OneBad, Uploads, total_bps},
    },
};

const FASTEST: usize = 7;
const GOOD_CENTIDB: i32 = 6000;

fn controls() -> [(&'static str, RateChoice); 6] {
    [
        ("amrr", RateChoice::Amrr(Amrr::NET80211)),
        ("amrr, madwifi", RateChoice::Amrr(Amrr::MADWIFI)),
        ("arf", RateChoice::Arf(Arf::WAVELAN_II)),
        ("arf 10/4", RateChoice::Arf(Arf::TUNED)),
        ("minstrel", RateChoice::Minstrel(Minstrel::LEGACY)),
        (
            "minstrel, 50 ms",
            RateChoice::Minstrel(Minstrel::LEGACY_50_MS),
        ),
    ]
}

fn uploads(choice: RateChoice, stations: u16, snr_centidb: i32) -> Vec<(Station, Link)> {
    let uploads = Uploads {
        profile: Profile {
            fading: None,
            ..Profile::dot11g()
        },
        choice,
        stations,
        snr_centidb,
        seconds: 10,
        seed: 1,
    };
    uploads.run()
}

fn total_mbps(runs: &[(Station, Link)]) -> f64 {
    runs.iter()
        .map(|(station, _)| station.throughput_bps() / 1e6)
        .sum()
}

#[test]
fn one_good_station_climbs_to_the_fastest_rate_and_stays() {
    for (name, choice) in controls() {
        let runs = uploads(choice, 1, GOOD_CENTIDB);
        assert_eq!(runs[0].1.rate, FASTEST, "{name}");
        // Less minstrel's samples.
        let total = total_mbps(&runs);
        assert!(total > 30.5, "{name}: {total}");
    }
}

/// By formula without fluctuation, steps of 6 to 54 Mbit/s need 3 to 23 dB.
#[test]
fn one_bad_station_settles_at_the_best_rate() {
    for snr_centidb in [500, 1200, 1900] {
        let fixed = |rate| total_mbps(&uploads(RateChoice::Fixed(rate), 1, snr_centidb));
        let best = (0..=FASTEST).map(fixed).fold(0.0, f64::max);
        for (name, choice) in controls() {
            let total = total_mbps(&uploads(choice, 1, snr_centidb));
            assert!(
                total > 0.79 * best,
                "{name} at {snr_centidb}: {total} of {best}"
            );
        }
    }
}

/// The collapse: nothing is lost by radio, and every control that counts retries goes down.
#[test]
fn collisions_make_controls_by_retries_slow() {
    for (name, choice) in &controls()[..4] {
        let two = total_mbps(&uploads(*choice, 2, GOOD_CENTIDB));
        let ten = uploads(*choice, 10, GOOD_CENTIDB);
        assert!(two > 29.0, "{name}: {two}");
        assert!(total_mbps(&ten) < 5.5, "{name}: {}", total_mbps(&ten));
        assert!(ten.iter().all(|(_, link)| link.rate <= 1), "{name}");
    }
}

#[test]
fn controls_by_throughput_and_fixed_rates_stay_fast() {
    for choice in [
        RateChoice::Fixed(FASTEST),
        RateChoice::Chain(Chain::down_from(FASTEST, 2)),
        RateChoice::Minstrel(Minstrel::LEGACY),
        RateChoice::Minstrel(Minstrel::LEGACY_50_MS),
    ] {
        let ten = total_mbps(&uploads(choice, 10, GOOD_CENTIDB));
        assert!(ten > 25.0, "{choice:?}: {ten}");
    }
}

/// With a chain of single tries, retries are slow whatever was wrong.
#[test]
fn a_short_chain_slows_retries_but_not_first_attempts() {
    let choice = RateChoice::Chain(Chain::down_from(FASTEST, 1));
    let two = total_mbps(&uploads(choice, 2, GOOD_CENTIDB));
    let ten = total_mbps(&uploads(choice, 10, GOOD_CENTIDB));
    assert!(two > 30.0 && (17.0..21.0).contains(&ten), "{two} {ten}");
}

#[test]
fn phones_of_2011_collapse() {
    let run = |stations| {
        let uploads = Uploads {
            profile: Profile::phones_2011(),
            choice: Profile::phones_2011().rate_choice,
            stations,
            snr_centidb: 3500,
            seconds: 10,
            seed: 1,
        };
        total_mbps(&uploads.run())
    };
    let (one, ten) = (run(1), run(10));
    assert!(one > 30.0 && ten < 5.0, "{one} {ten}");
}

/// Attempts from both sides, acknowledged or not, by the link's own count.
#[test]
fn each_direction_has_its_own_control_and_figures() {
    let profile = Profile {
        fading: None,
        ..Profile::dot11g()
    };
    let mut medium = Medium::new(profile, 1);
    let station = medium.add_station(SnrPath::constant(-3000));
    let choice = RateChoice::Arf(Arf::WAVELAN_II);
    let down = Direction::Down;
    let one_way = Input::RateOneWay {
        station,
        direction: down,
        choice,
    };
    medium.handle(0, one_way).unwrap();
    assert_eq!(medium.link(station, down).unwrap().rate, FASTEST);
    // By SNR, which is hopeless.
    assert_eq!(medium.link(station, Direction::Up).unwrap().rate, 0);

    let frame = Frame {
        token: 0,
        bytes: 1514,
        to: Receiver::Node(station),
    };
    let from = Medium::ACCESS_POINT;
    medium.handle(0, Input::Transmit { from, frame }).unwrap();
    let mut outcomes = Vec::new();
    while let Some(now_ns) = medium.wake_ns() {
        outcomes.extend(std::iter::from_fn(|| medium.poll(now_ns)));
    }
    let is_dropped = |action: &takt_medium::Action| {
        matches!(
            action,
            takt_medium::Action::Done {
                outcome: Outcome::Dropped,
                ..
            }
        )
    };
    assert!(outcomes.iter().all(is_dropped) && outcomes.len() == 1);
    // Seven attempts fail, and each pair is a step down.
    let expected = Link {
        rate: FASTEST - 3,
        frames: 1,
        retries: 6,
        dropped: 1,
    };
    assert_eq!(medium.link(station, down), Ok(expected));
    let up = medium.link(station, Direction::Up).unwrap();
    assert_eq!(up, Link::default());
}

#[test]
fn a_chain_with_an_unknown_rate_is_refused() {
    let mut medium = Medium::new(Profile::dot11g(), 1);
    let station = medium.add_station(SnrPath::constant(GOOD_CENTIDB));
    let choice = RateChoice::Chain(Chain::single(8));
    let refused = medium.handle(0, Input::Rate { station, choice });
    assert_eq!(refused, Err(Refused::NoRate(8)));
}

/// Ten stations of today: aggregates, and a control that does not mind collisions.
#[test]
fn stations_of_today_do_not_collapse() {
    let run = |stations| {
        let uploads = Uploads {
            profile: Profile::today(),
            choice: Profile::today().rate_choice,
            stations,
            snr_centidb: 4500,
            seconds: 10,
            seed: 1,
        };
        total_mbps(&uploads.run())
    };
    let totals = [1, 2, 5, 10].map(run);
    assert!(totals[0] > 58.0 && totals[3] > 40.0, "{totals:?}");
}

/// An access point's aggregates are of frames for one station, whatever their order was.
#[test]
fn downloads_of_today_are_aggregated() {
    let downloads = OneBad {
        profile: Profile::today(),
        stations: 4,
        bad_snr_centidb: GOOD_CENTIDB,
        traffic: Traffic::Cbr {
            bytes: 1514,
            interval_ns: 500_000,
            jitter_ns: 50_000,
        },
        seconds: 10,
        seed: 1,
    };
    for stations in [downloads.fifo(), downloads.weighted(1_000_000)] {
        let attempts: u64 = stations.iter().map(Station::attempts).sum();
        let delivered: u64 = stations.iter().map(|station| station.delivered).sum();
        assert!(delivered > 5 * attempts, "{delivered} in {attempts}");
        assert!(total_bps(&stations) > 36e6, "{}", total_bps(&stations));
    }
}
