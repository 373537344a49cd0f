//! The medium against theory (`docs/medium.md`).

use takt_medium::{
    Aggregation, Profile, Rules,
    sim::runs::{saturated, total_bps},
    theory::Saturation,
};

const BYTES: u32 = 1514;
const STATIONS: [u32; 6] = [1, 2, 5, 10, 20, 50];

fn deviation(measured: f64, expected: f64) -> f64 {
    measured / expected - 1.0
}

fn under_bianchi(profile: Profile) -> Profile {
    Profile {
        rules: Rules::Bianchi,
        attempts_max: None,
        ..profile
    }
}

#[test]
fn one_station_alone() {
    for (profile, rate) in [
        (Profile::wavelan(), 0),
        (Profile::dot11b_long(), 3),
        (Profile::dot11b_short(), 3),
        (Profile::dot11g(), 7),
        (Profile::dot11n(), 7),
    ] {
        let expected = Saturation::new(profile.clone(), rate, BYTES).alone_bps();
        let measured = total_bps(&saturated(&profile, &[rate], BYTES, 60));
        let off = deviation(measured, expected);
        assert!(
            off.abs() < 0.005,
            "{}: {measured} instead of {expected}",
            profile.name
        );
    }
}

/// Aggregates of n frames: closed form alone, Bianchi and Tinnirello's for many.
#[test]
fn aggregates() {
    for (profile, frames_max) in [
        (Profile::today(), 1),
        (Profile::today(), 2),
        (Profile::today(), 8),
        (Profile::today(), 64),
        (Profile::today_ac(), 64),
    ] {
        let rate = profile.rates.len() - 1;
        let profile = Profile {
            aggregation: profile.aggregation.map(|aggregation| Aggregation {
                frames_max,
                bytes_max: u32::MAX,
                duration_max_ns: u64::MAX,
                ..aggregation
            }),
            ..profile
        };
        let model = Saturation::of_aggregates(profile.clone(), rate, BYTES, frames_max);
        for stations in [1, 2, 5, 10] {
            let expected = match stations {
                1 => model.alone_bps(),
                _ => model.standard_bps(stations),
            };
            let rates = vec![rate; stations as usize];
            let measured = total_bps(&saturated(&profile, &rates, BYTES, 60));
            assert!(
                deviation(measured, expected).abs() < 0.01,
                "{frames_max} frames, {stations} stations: {measured} not {expected}"
            );
        }
    }
}

#[test]
fn many_stations_under_bianchis_assumptions() {
    for (profile, rate, bytes) in [
        (Profile::bianchi(32, 3), 0, 1023),
        (Profile::bianchi(32, 5), 0, 1023),
        (Profile::bianchi(128, 3), 0, 1023),
        (under_bianchi(Profile::dot11b_long()), 3, BYTES),
    ] {
        let model = Saturation::new(profile.clone(), rate, bytes);
        for stations in STATIONS {
            let expected = model.bianchi_bps(stations);
            let rates = vec![rate; stations as usize];
            let measured = total_bps(&saturated(&profile, &rates, bytes, 120));
            let off = deviation(measured, expected);
            assert!(
                off.abs() < 0.03,
                "{} {stations}: {measured} not {expected}",
                profile.name
            );
        }
    }
}

#[test]
fn many_stations_under_the_standard() {
    let profile = Profile::dot11b_long();
    let model = Saturation::new(profile.clone(), 3, BYTES);
    for stations in STATIONS {
        let expected = model.standard_bps(stations);
        let measured = total_bps(&saturated(
            &profile,
            &vec![3; stations as usize],
            BYTES,
            120,
        ));
        let off = deviation(measured, expected);
        assert!(off.abs() < 0.03, "{stations}: {measured} not {expected}");
    }
}

#[test]
fn one_slow_station_slows_everyone() {
    let profile = Profile::dot11b_long();
    let (slow, fast) = (0, 3);
    for stations in [2, 4, 8] {
        let mut rates = vec![fast; stations as usize];
        rates[0] = slow;
        let measured = saturated(&profile, &rates, BYTES, 600);
        let expected = Saturation::new(profile.clone(), fast, BYTES)
            .anomaly_bps(&Saturation::new(profile.clone(), slow, BYTES), stations);
        let slow_bps = measured[0].throughput_bps();
        let fast_bps = total_bps(&measured[1..]) / f64::from(stations - 1);
        for bps in [slow_bps, fast_bps] {
            assert!(
                deviation(bps, expected).abs() < 0.06,
                "{stations}: {bps} not {expected}"
            );
        }
    }
}
