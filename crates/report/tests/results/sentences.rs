//! The figures of docs/comparison.md outside its tables. Figures that compare two figures of a
//! table are not checked.

use crate::sentence::Sentence;
use crate::tables::{figure, percent, percent_hundredths, seconds, tenths, us, whole};

pub fn all() -> Vec<Sentence> {
    let loss = figure("task_loss_percent", percent);
    let little_loss = figure("task_loss_percent", percent_hundredths);
    let wait = figure("wait_max_ns", |ns| tenths(ns / 1e6));
    let switch = figure("switch_mean_ns", whole);
    let jitter = figure("jitter_max_ns", us);
    let throughput = figure("throughput_percent", percent);
    vec![
        Sentence {
            experiment: "background",
            words: "an upload at 20 Mbit/s takes {} of it under FIFO, {} under Takt with \
                    `gate = \"open\"` and {} under Takt; datagrams that come in at 5.7 Mbit/s \
                    take {}, {} and {}",
            figures: vec![
                ("fifo", "busy-upload", loss),
                ("takt-open", "busy-upload", loss),
                ("takt", "busy-upload", little_loss),
                ("fifo", "busy-download", loss),
                ("takt-open", "busy-download", loss),
                ("takt", "busy-download", little_loss),
            ],
        },
        Sentence {
            experiment: "background",
            words: "What was held leaves within {} ms after the task rests",
            figures: vec![("takt", "wait-for-idle", wait)],
        },
        Sentence {
            experiment: "beats",
            words: "a switch from thread to thread in the default class {}; in Takt from member \
                    to member {}, from a thread that is cut to the next beat {} (SCHED_FIFO {}), \
                    from a beat to an ordinary thread {}, and back {}",
            figures: vec![
                ("default", "switch-threads", switch),
                ("takt", "switch-in-group", switch),
                ("takt", "switch-to-next-beat", switch),
                ("fifo", "switch-to-next-beat", switch),
                ("takt", "switch-to-ordinary", switch),
                ("takt", "switch-from-ordinary", switch),
            ],
        },
        Sentence {
            experiment: "beats",
            words: "is cut within {} ns of its slot's end in {} of",
            figures: vec![
                ("takt", "overrun-first", figure("cut_late_max_ns", whole)),
                ("takt", "overrun-first", figure("cuts_count", whole)),
            ],
        },
        Sentence {
            experiment: "beats",
            words: "the others start as before ({} against {} µs)",
            figures: vec![
                ("takt", "overrun-first", jitter),
                ("takt", "overrun-nobody", jitter),
            ],
        },
        Sentence {
            experiment: "beats",
            words: "computing {}, pipes {}, hackbench {}",
            figures: vec![
                ("takt", "ordinary-compute", throughput),
                ("takt", "ordinary-pipes", throughput),
                ("takt", "ordinary-messages", throughput),
            ],
        },
        Sentence {
            experiment: "beats",
            words: "cyclictest as a member, loaded: {} µs (p99)",
            figures: vec![("takt", "cyclictest-600kBps", figure("latency_p99_ns", us))],
        },
        Sentence {
            experiment: "radio",
            words: "follows its SNR within {} s down and {} s up",
            figures: vec![
                ("takt-pw", "stepping-cbr", figure("fall_most_ns", seconds)),
                ("takt-pw", "stepping-cbr", figure("rise_most_ns", seconds)),
            ],
        },
        Sentence {
            experiment: "radio",
            words: "Weighing adds {} to a packet's way from socket to socket",
            figures: vec![(
                "takt-pw",
                "good-lone",
                figure("path_over_fifo_percent", percent_hundredths),
            )],
        },
    ]
}
