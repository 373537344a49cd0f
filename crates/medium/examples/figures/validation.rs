//! Comparison with theory.

use takt_medium::{
    Profile, RateChoice, Rules,
    sim::runs::{saturated, total_bps},
    theory::Saturation,
};

use crate::{BYTES, columns, heading, kbps, off};

pub fn alone() {
    heading("One station alone");
    columns(&[
        "Profile",
        "Rate, Mbit/s",
        "Closed form, kbit/s",
        "Measured",
        "Off",
    ]);
    for profile in Profile::all()
        .into_iter()
        .filter(|profile| profile.acknowledged && is_plain(profile))
    {
        let rate = profile.rates.len() - 1;
        let expected = Saturation::new(profile.clone(), rate, BYTES).alone_bps();
        let measured = total_bps(&saturated(&profile, &[rate], BYTES, 300));
        println!(
            "| {} | {} | {} | {} | {} |",
            profile.name,
            profile.rates[rate].bps as f64 / 1e6,
            kbps(expected),
            kbps(measured),
            off(measured, expected)
        );
    }
}

/// Profiles with a rate control or aggregates have tables of their own.
fn is_plain(profile: &Profile) -> bool {
    matches!(
        profile.rate_choice,
        RateChoice::Fixed(_) | RateChoice::BySnr
    )
}

pub fn many() {
    let dot11b = || Profile::dot11b_long();
    let bianchis = |profile| Profile {
        rules: Rules::Bianchi,
        attempts_max: None,
        ..profile
    };
    let standards = |profile| Profile {
        rules: Rules::Standard,
        attempts_max: Some(7),
        ..profile
    };
    let networks = [
        ("Bianchi W=32 m=3", Profile::bianchi(32, 3), 0, 1023),
        ("Bianchi W=32 m=5", Profile::bianchi(32, 5), 0, 1023),
        ("Bianchi W=128 m=3", Profile::bianchi(128, 3), 0, 1023),
        ("802.11b 11 Mbit/s", dot11b(), 3, BYTES),
    ];
    heading("Many stations");
    columns(&[
        "Network",
        "n",
        "Bianchi 2000, kbit/s",
        "Under his rules",
        "Off",
        "Bianchi and Tinnirello 2005",
        "Under the standard's",
        "Off",
        "Off Bianchi 2000",
    ]);
    for (name, profile, rate, bytes) in networks {
        for stations in [1u32, 2, 5, 10, 20, 50] {
            let rates = vec![rate; stations as usize];
            let (his, its) = (bianchis(profile.clone()), standards(profile.clone()));
            let model = Saturation::new(his.clone(), rate, bytes).bianchi_bps(stations);
            let refined = Saturation::new(its.clone(), rate, bytes).standard_bps(stations);
            let under_his = total_bps(&saturated(&his, &rates, bytes, 600));
            let under_its = total_bps(&saturated(&its, &rates, bytes, 600));
            println!(
                "| {name} | {stations} | {} | {} | {} | {} | {} | {} | {} |",
                kbps(model),
                kbps(under_his),
                off(under_his, model),
                kbps(refined),
                kbps(under_its),
                off(under_its, refined),
                off(under_its, model)
            );
        }
    }
}

pub fn anomaly() {
    heading("One slow station among fast ones");
    columns(&[
        "Stations",
        "Formula, each, kbit/s",
        "Fast ones",
        "Slow one",
        "Fast ones without it",
    ]);
    let profile = Profile::dot11b_long();
    for stations in [2u32, 4, 8] {
        let mut rates = vec![3; stations as usize];
        let without = saturated(&profile, &rates, BYTES, 300);
        rates[0] = 0;
        let with = saturated(&profile, &rates, BYTES, 300);
        let expected = Saturation::new(profile.clone(), 3, BYTES)
            .anomaly_bps(&Saturation::new(profile.clone(), 0, BYTES), stations);
        println!(
            "| {stations} | {} | {} | {} | {} |",
            kbps(expected),
            kbps(total_bps(&with[1..]) / f64::from(stations - 1)),
            kbps(with[0].throughput_bps()),
            kbps(total_bps(&without) / f64::from(stations))
        );
    }
}
