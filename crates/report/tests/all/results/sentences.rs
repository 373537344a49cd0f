//! The figures of docs/comparison.md outside its tables. Figures that compare two figures of a
//! table are not checked.

use super::sentence::Sentence;
use super::tables::{figure, percent, percent_hundredths, seconds, tenths, us, whole};

pub fn all() -> Vec<Sentence> {
    let loss = figure("task_loss_percent", percent);
    let little_loss = figure("task_loss_percent", percent_hundredths);
    let wait = figure("wait_max_ns", |ns| tenths(ns / 1e6));
    let switch = figure("switch_mean_ns", whole);
    let jitter = figure("jitter_max_ns", us);
    let late_start = figure("jitter_p999_ns", us);
    let median_start = figure("jitter_p50_ns", us);
    let missed = figure("missed_jobs_count", whole);
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
            experiment: "beats",
            words: "99.9 % of 10,000 starts are within {} µs (SCHED_FIFO {}, SCHED_DEADLINE {}), \
                    the median at {} ({}), and {} job is lost ({})",
            figures: vec![
                ("takt", "loop-1ms", late_start),
                ("fifo", "loop-1ms", late_start),
                ("deadline", "loop-1ms", late_start),
                ("takt", "loop-1ms", median_start),
                ("fifo", "loop-1ms", median_start),
                ("takt", "loop-1ms", missed),
                ("fifo", "loop-1ms", missed),
            ],
        },
        Sentence {
            experiment: "beats",
            words: "{} xruns logged in {} cycles",
            figures: vec![
                ("takt", "audio-64", figure("xruns_count", whole)),
                ("takt", "audio-64", figure("cycles_count", whole)),
            ],
        },
        Sentence {
            experiment: "beats",
            words: "told by the driver and by its client), in SCHED_FIFO {}",
            figures: vec![("fifo", "audio-64", figure("xruns_count", whole))],
        },
        Sentence {
            experiment: "beats",
            words: "none out of order, {} jobs of 60,000 lost",
            figures: vec![("takt", "group-of-three", missed)],
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
