//! What an access point carries in all, by the number of its stations, if one of them is bad or all
//! are good: with weights by strength of connection, without (`takt-fifo`), and under peers. SoCPS's
//! question at more stations.

use serde_json::json;
use takt_report::Row;

use super::parallel::in_parallel;
use super::setting::{self, NS_PER_S, qdisc, row, setup};

const STATIONS: [u32; 6] = [2, 4, 8, 16, 32, 64];
/// Of two papers' cards: SoCPS's, and one of 54 Mbit/s with a rate of each frame by SNR; and one of
/// today, which sends frames of one station together.
const MEDIA: [(&str, &str); 3] = [
    ("wavelan", "2mbit"),
    ("802.11g", "32mbit"),
    ("today-ac", "200mbit"),
];
const GOOD_DB: i32 = 25;
const FIRST_DB: [i32; 3] = [3, 6, GOOD_DB];
const SCHEDULERS: [&str; 5] = ["takt", "takt-fifo", "airtime", "fq_codel", "fifo"];

pub fn run() -> Vec<Row> {
    let mut all = Vec::new();
    for medium in MEDIA {
        for first_db in FIRST_DB {
            for stations in STATIONS {
                all.extend(SCHEDULERS.map(|name| (medium, first_db, stations, name)));
            }
        }
    }
    in_parallel(&all, |((medium, rate), first_db, stations, name)| {
        measure(medium, rate, *first_db, *stations, name)
    })
}

/// The access point sends twice the link's rate, the same to each station; the first has this
/// strength.
fn measure(medium: &str, rate: &str, first_db: i32, stations: u32, name: &str) -> Row {
    let radio = match name {
        "takt" => "[radio]\n",
        _ => "",
    };
    let policy = format!("[link.wlan0]\nrate = \"{rate}\"\n{radio}");
    let link_bps: u64 = takt_policy::parse("policy", &policy)
        .expect("a policy")
        .links[0]
        .rate_bps;
    let mut traffic = format!("[device]\nmedium = \"{medium}\"\n[measure]\nafter = \"5s\"\n");
    for at in 0..stations {
        let snr = if at == 0 { first_db } else { GOOD_DB };
        traffic += &format!(
            "[[station]]\nname = \"n{at}\"\naddress = \"192.0.2.{at}\"\nsnr = {snr}\n\
             [[source]]\nname = \"s{at}\"\nkind = \"poisson\"\nrate = \"{}bit\"\n\
             forwarded = true\nheaders = {{ dst = \"192.0.2.{at}\" }}\n",
            2 * link_bps / u64::from(stations)
        );
    }
    let setup = setup(&policy, &traffic);
    let qdisc_name = if name == "takt-fifo" { "takt" } else { name };
    let outcome = setting::run(&setup, &mut *qdisc(qdisc_name, &setup), 65 * NS_PER_S);
    let (bad, good) = (&outcome.stations[0], &outcome.stations[1..]);
    let good_bps: f64 = good.iter().map(|it| it.delivered_bps).sum();
    row(
        name,
        &format!("radio/{medium}/{first_db}db/{stations}"),
        [
            ("total_bps", json!(good_bps + bad.delivered_bps)),
            ("good_bps", json!(good_bps)),
            ("troubled_bps", json!(bad.delivered_bps)),
            ("troubled_air_percent", json!(bad.air_percent)),
        ],
    )
}
