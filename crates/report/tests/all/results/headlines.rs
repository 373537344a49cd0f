//! The README's table: one figure for each capability, beside its best peer and the usual one.

use super::sentence::Sentence;
use super::tables::{figure, kbit_per_s, ms, percent, percent_of_error, us};

/// Each is a line of the table.
pub fn all() -> Vec<Sentence> {
    let share = figure("share_error_max_percent", percent_of_error);
    let longer = figure("over_alone_percent", percent);
    let total = figure("total_bps", kbit_per_s);
    let round_trip = figure("rtt_p99_ns", ms);
    let late = figure("jitter_worst_thread_p99_ns", us);
    vec![
        Sentence {
            experiment: "pacing",
            words: "| pacing: five classes that ask for 160 of a link's 100 Mbit/s, largest error of \
                    a share in any second | {} | HTB with rates scaled by hand {}, CAKE {} | `pacing` |",
            figures: vec![
                ("takt", "sharing", share),
                ("htb", "sharing", share),
                ("cake", "sharing", share),
            ],
        },
        Sentence {
            experiment: "background",
            words: "| background: a 100 KB upload beside a background one at 384 kbit/s, longer than \
                    alone by | {} | strict priority with a buffer of one frame {}, fq {} | \
                    `background` |",
            figures: vec![
                ("takt", "384kbit-100kb", longer),
                ("prio-1600", "384kbit-100kb", longer),
                ("fq", "384kbit-100kb", longer),
            ],
        },
        Sentence {
            experiment: "radio",
            words: "| radio: eight stations, one at 3 dB, on 2 Mbit/s: UDP total in kbit/s | {} | \
                    airtime fairness {}, FIFO {} | `radio` |",
            figures: vec![
                ("takt-pw", "bad1-cbr", total),
                ("airtime", "bad1-cbr", total),
                ("pfifo", "bad1-cbr", total),
            ],
        },
        Sentence {
            experiment: "crowd",
            words: "| crowd: ten terminals upload, p99 of round trips in ms | {} | BBR {}, CUBIC {} \
                    | `crowd` |",
            figures: vec![
                ("takt", "upload-10-16ms", round_trip),
                ("bbr", "upload-10-16ms", round_trip),
                ("cubic", "upload-10-16ms", round_trip),
            ],
        },
        Sentence {
            experiment: "beats",
            words: "| beats: a thread's start after its time, beside 600 KB/s of packets, p99 in µs | \
                    {} | SCHED_FIFO {}, default class {} | `beats` |",
            figures: vec![
                ("takt", "40ms-600kBps", late),
                ("fifo", "40ms-600kBps", late),
                ("default", "40ms-600kBps", late),
            ],
        },
    ]
}
