//! Phones of today: aggregates, minstrel, and queues per flow at the access point.

use takt_crowd_model::{AccessPoint, Control, Setup};
use takt_medium::{Profile, SnrPath};
use takt_wlan::crowd::Aggregates;

use super::{Row, Runs, S_NS, Table, compared};

const SEEDS: u64 = 3;
const END_NS: u64 = 20 * S_NS;

/// All with CUBIC, with BBR, with Takt.
pub fn delays() -> Table {
    let mut rows = Vec::new();
    for profile in [Profile::today_ac(), Profile::today()] {
        for delay_ms in [0, 16, 64, 256] {
            for terminals in [1, 2, 5, 10] {
                let name = format!("{}, {delay_ms} ms, n = {terminals}", profile.name);
                let setup = of_today(profile.clone(), terminals, delay_ms);
                rows.push(Row::new(name, move || {
                    let [cubic, bbr, takt] = [
                        setup.clone(),
                        setup.clone().with_control(Control::Bbr),
                        setup.clone().with_members(terminals),
                    ]
                    .map(|setup| Runs::until(&setup, SEEDS, END_NS));
                    compared([&cubic, &bbr, &takt])
                }));
            }
        }
    }
    Table {
        title: "Phones of today",
        text: "Three seeds, 20 s each: the first 10 s, and the 10 s after them. Profiles today \
               (802.11n, 20 MHz, one stream)\nand today-ac (802.11ac, 80 MHz): aggregates, \
               minstrel, an SNR of 35 dB with 3.6 dB of deviation.\nmac80211's fq_codel at the \
               access point; each flow has up to 8 ms of its rate in its own device.",
        columns: "first: CUBIC | BBR | Takt | after: CUBIC | BBR | Takt | Jain CUBIC | BBR \
                  | Takt | p99 CUBIC | BBR | Takt",
        rows,
    }
}

/// So many of a profile of today, this far from the server.
pub fn of_today(profile: Profile, terminals: usize, delay_ms: u64) -> Setup {
    let rate = profile.rate_choice;
    let mut setup = Setup {
        profile,
        access_point: AccessPoint::MAC80211,
        // mac80211 shifts the pacing rate by seven for small queues (tx_sk_pacing_shift).
        own_queue_ns: S_NS >> 7,
        ..Setup::uploads(terminals, delay_ms)
    };
    for terminal in &mut setup.terminals {
        terminal.rate = rate;
        terminal.path = SnrPath::constant(3500);
    }
    setup
}

/// What is kept for aggregates: by all together, and by each for its own.
pub fn aggregates() -> Table {
    let mut rows = Vec::new();
    for profile in [Profile::today_ac(), Profile::today()] {
        for (all_ms, each_ms) in [(0, 0), (8, 0), (6, 2), (4, 4)] {
            let name = format!("{}, {all_ms} + {each_ms} n ms", profile.name);
            let profile = profile.clone();
            rows.push(Row::new(name, move || {
                let of = |(terminals, delay_ms)| {
                    let setup = Setup {
                        aggregates: Aggregates {
                            all_us: 1000 * all_ms,
                            each_us: 1000 * each_ms,
                        },
                        ..of_today(profile.clone(), terminals, delay_ms).with_members(terminals)
                    };
                    let runs = Runs::until(&setup, SEEDS, END_NS);
                    format!("{} | {}", runs.total(), runs.p99_ms())
                };
                [(1, 0), (2, 16), (5, 16), (10, 16)].map(of).join(" | ")
            }));
        }
    }
    Table {
        title: "What is kept for aggregates, phones of today",
        text: "Takt, after the first 10 s; seeds and time as above.",
        columns: "0 ms, n = 1 | p99 | 16 ms, n = 2 | p99 | 16 ms, n = 5 | p99 | 16 ms, n = 10 | p99",
        rows,
    }
}
