//! Phones of 2011, whose rate controls fall with collisions.

use std::sync::{Arc, OnceLock};

use takt_crowd_model::{Figures, Interval, Second, Setup, correlation, trace};
use takt_medium::{
    Profile, RateChoice, SnrPath,
    rate_control::{Arf, Minstrel},
};

use super::{END_NS, FIRST_NS, Row, Runs, S_NS, SEEDS, Table, shown, values};

const PHONES: [usize; 8] = [1, 2, 3, 4, 5, 6, 8, 10];

/// The cooperative middleware's figure 3: phones of 2011, whose rate controls fall with collisions.
pub fn phones() -> Table {
    let controls = [
        ("AMRR", Profile::phones_2011().rate_choice),
        ("ARF 10/4", RateChoice::Arf(Arf::TUNED)),
        ("minstrel", RateChoice::Minstrel(Minstrel::LEGACY)),
        ("fixed at 54", RateChoice::Fixed(7)),
    ];
    let mut rows = Vec::new();
    for (control, rate) in controls {
        for delay_ms in [0, 16, 64, 128, 256] {
            for (contender, is_takt) in [("CUBIC", false), ("Takt", true)] {
                rows.push(Row::new(
                    format!("{control}, {delay_ms} ms, {contender}"),
                    move || {
                        let of = |terminals| {
                            let members = if is_takt { terminals } else { 0 };
                            let runs = Runs::new(&of_2011(terminals, members, delay_ms, rate));
                            let totals = values(&runs.after, Figures::total_mbps);
                            let total = Interval::from_values(&totals);
                            format!("{:.1} ± {:.1}", total.mean, total.half)
                        };
                        PHONES.map(of).join(" | ")
                    },
                ));
            }
        }
    }
    Table {
        title: "Phones of 2011: the total by the number of terminals",
        text: "Profile phones-2011: 802.11g, seven attempts, an SNR of 35 dB with 3.6 dB of \
               deviation, windows of at\nmost 48 segments and 3 at first, a queue of 1,000 frames \
               in each phone without small queues, 64 frames\nat the access point.",
        columns: "1 | 2 | 3 | 4 | 5 | 6 | 8 | 10",
        rows,
    }
}

fn of_2011(terminals: usize, members: usize, delay_ms: u64, rate: RateChoice) -> Setup {
    let mut setup = Setup {
        profile: Profile::phones_2011(),
        own_queue_frames: 1000,
        initial_window: 3,
        window_max: 48,
        ..Setup::uploads(terminals, delay_ms).with_members(members)
    };
    setup.access_point.frames = 64;
    for terminal in &mut setup.terminals {
        terminal.rate = rate;
        terminal.path = SnrPath::constant(3500);
    }
    setup
}

const TRACED_S: u64 = 30;

/// The paper's figure 4: the window and round trips of one terminal.
pub fn traces() -> Table {
    let traced: [Arc<OnceLock<Vec<Second>>>; 2] = Default::default();
    let row = |second: u64| {
        let traced = traced.clone();
        Row::new(format!("{second} s"), move || {
            let of = |at: usize| {
                let seconds = traced[at].get_or_init(|| {
                    let amrr = Profile::phones_2011().rate_choice;
                    let setup = of_2011(10, at * 10, 16, amrr);
                    trace(&setup, 1, TRACED_S).swap_remove(0)
                });
                let Second {
                    window,
                    rtt_ms,
                    rate_mbps,
                } = seconds[second as usize - 1];
                format!("{window} | {rtt_ms:.0} | {rate_mbps:.2}")
            };
            [0, 1].map(of).join(" | ")
        })
    };
    Table {
        title: "Phones of 2011: one of ten terminals, 16 ms, AMRR, second by second",
        text: "The paper's figure 4, one seed: the window at the end of the second, in segments, \
               the mean of its round\ntrips, and the rate; NaN: no round trip was measured.",
        columns: "CUBIC: window | round trip | rate | Takt: window | round trip | rate",
        rows: (1..=TRACED_S).map(row).collect(),
    }
}

const CORRELATED_S: u64 = END_NS / S_NS;
const CORRELATED_FROM_S: u64 = FIRST_NS / S_NS;

/// The paper's figure 5: whether round trips are long where rates are high.
pub fn correlations() -> Table {
    let mut rows = Vec::new();
    let controls = [
        ("AMRR", Profile::phones_2011().rate_choice),
        ("ARF 10/4", RateChoice::Arf(Arf::TUNED)),
    ];
    for (control, rate) in controls {
        for terminals in [3, 5, 10] {
            rows.push(Row::new(format!("{control}, n = {terminals}"), move || {
                let of = |members| correlated(&of_2011(terminals, members, 16, rate));
                format!("{} | {}", of(0), of(terminals))
            }));
        }
    }
    Table {
        title: "Phones of 2011: the correlation of rates and round trips, 16 ms",
        text: "The paper's figure 5: Pearson's coefficient of a terminal's rate and the mean of \
               its round trips in each\nsecond after the first 10, and of the total and that \
               mean; the mean of all terminals.",
        columns: "CUBIC: own rate | total | Takt: own rate | total",
        rows,
    }
}

fn correlated(setup: &Setup) -> String {
    let (mut of_own, mut of_total) = (Vec::new(), Vec::new());
    for seed in 1..=SEEDS {
        let terminals = trace(setup, seed, CORRELATED_S);
        let total = |second: usize| -> f64 {
            let seconds = terminals.iter().map(|seconds| &seconds[second]);
            seconds.map(|second| second.rate_mbps).sum()
        };
        let mean_of = |rate: &dyn Fn(&Second, usize) -> f64| {
            let of = |seconds: &Vec<Second>| {
                let pairs = seconds.iter().enumerate().skip(CORRELATED_FROM_S as usize);
                let pairs = pairs.map(|(at, second)| (rate(second, at), second.rtt_ms));
                correlation(&pairs.filter(|pair| !pair.1.is_nan()).collect::<Vec<_>>())
            };
            terminals.iter().map(of).sum::<f64>() / terminals.len() as f64
        };
        of_own.push(mean_of(&|second, _| second.rate_mbps));
        of_total.push(mean_of(&|_, at| total(at)));
    }
    let [of_own, of_total] =
        [of_own, of_total].map(|values| shown(&Interval::from_values(&values)));
    format!("{of_own} | {of_total}")
}
