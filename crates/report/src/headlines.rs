//! One line for each capability: a figure of Takt's beside those of its peers. The page of the tour
//! opens with them.

use maud::{Markup, html};

use crate::rows::Report;
use crate::units::Unit;

struct Headline {
    experiment: &'static str,
    measured: &'static str,
    metric: &'static str,
    /// A short run does not have every case: the first of these that the report has.
    cases: &'static [&'static str],
    subject: &'static str,
    peers: &'static [&'static str],
}

const HEADLINES: [Headline; 5] = [
    Headline {
        experiment: "pacing",
        measured: "five classes ask for 160 of a link's 100 Mbit/s: largest error of a share",
        metric: "share_error_max_percent",
        cases: &["sharing"],
        subject: "takt",
        peers: &["htb", "cake"],
    },
    Headline {
        experiment: "background",
        measured: "a 100 KB upload beside a background one, longer than alone by",
        metric: "over_alone_percent",
        cases: &["384kbit-100kb"],
        subject: "takt",
        peers: &["prio-1600", "fq"],
    },
    Headline {
        experiment: "radio",
        measured: "eight stations, one at 3 dB: total",
        metric: "total_bps",
        cases: &["bad1-cbr", "bad1-mixed"],
        subject: "takt-pw",
        peers: &["airtime", "pfifo"],
    },
    Headline {
        experiment: "crowd",
        measured: "ten terminals upload: p99 of round trips",
        metric: "rtt_p99_ns",
        cases: &["upload-10-16ms"],
        subject: "takt",
        peers: &["bbr", "cubic"],
    },
    Headline {
        experiment: "beats",
        measured: "a thread's start after its time, beside packets: p99",
        metric: "jitter_worst_thread_p99_ns",
        cases: &["40ms-600kBps", "40ms-saturated"],
        subject: "takt",
        peers: &["fifo", "deadline", "default"],
    },
];

/// A headline's figures, as far as the report has them.
struct Found {
    headline: &'static Headline,
    case: &'static str,
    figure: String,
    peers: Vec<(&'static str, String)>,
}

impl Headline {
    fn find(&'static self, report: &Report) -> Option<Found> {
        let unit = Unit::split(self.metric).1;
        let figure = |scheduler: &str, case: &str| {
            let row = report
                .rows
                .iter()
                .find(|row| row.scheduler == scheduler && row.case == case);
            let number = unit.format(row?.number(self.metric)?);
            Some(match unit.heading() {
                Some(unit) => format!("{number} {unit}"),
                None => number,
            })
        };
        let (case, found) = self
            .cases
            .iter()
            .find_map(|case| Some((*case, figure(self.subject, case)?)))?;
        let peers = self.peers.iter();
        let peers = peers.filter_map(|peer| Some((*peer, figure(peer, case)?)));
        Some(Found {
            headline: self,
            case,
            figure: found,
            peers: peers.collect(),
        })
    }
}

/// A table of all capabilities that were measured; `None` if it would have one line.
pub fn headlines(reports: &[Report]) -> Option<Markup> {
    let found: Vec<Found> = reports
        .iter()
        .filter_map(|report| {
            let headline = HEADLINES
                .iter()
                .find(|headline| headline.experiment == report.experiment)?;
            headline.find(report)
        })
        .collect();
    (found.len() > 1).then(|| table(&found))
}

fn table(found: &[Found]) -> Markup {
    html! {
        figure {
            h3 { "One line for each capability" }
            table {
                thead { tr {
                    th class="left" { "capability" }
                    th class="left" { "measured" }
                    th { "Takt" }
                    th class="left" { "peers" }
                    th class="left" { "case" }
                } }
                tbody {
                    @for line in found {
                        tr {
                            th { (line.headline.experiment) }
                            td class="left" { (line.headline.measured) }
                            td { b { (line.figure) } }
                            td class="left" {
                                @for (at, (peer, figure)) in line.peers.iter().enumerate() {
                                    @if at > 0 { ", " }
                                    (peer) " " (figure)
                                }
                            }
                            td class="left" { (line.case) }
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::rows::Row;

    fn report(headline: &Headline, case: &str) -> Report {
        let schedulers = [headline.subject].into_iter();
        let rows = schedulers
            .chain(headline.peers.iter().copied())
            .map(|name| Row {
                scheduler: name.to_owned(),
                case: case.to_owned(),
                metrics: BTreeMap::from([(headline.metric.to_owned(), 12_000_000.into())]),
            });
        Report {
            experiment: headline.experiment.to_owned(),
            kernel: String::new(),
            clock: "virtual".to_owned(),
            command: String::new(),
            commit: String::new(),
            rows: rows.collect(),
        }
    }

    #[test]
    fn every_capability_has_a_line_with_its_peers() {
        let reports: Vec<Report> = HEADLINES
            .iter()
            .map(|headline| report(headline, headline.cases[0]))
            .collect();
        let shown = headlines(&reports).unwrap().into_string();
        for headline in &HEADLINES {
            assert!(shown.contains(headline.measured), "{shown}");
            for peer in headline.peers {
                assert!(shown.contains(peer), "{shown}");
            }
        }
        assert!(shown.contains("12.0 ms"), "{shown}");
    }

    #[test]
    fn a_short_run_has_another_case() {
        let radio = HEADLINES.iter().find(|line| line.cases.len() > 1).unwrap();
        let found = radio.find(&report(radio, radio.cases[1])).unwrap();
        assert_eq!(found.case, radio.cases[1]);
        assert!(radio.find(&report(radio, "another")).is_none());
    }

    #[test]
    fn one_experiment_alone_has_no_table() {
        let alone = report(&HEADLINES[0], HEADLINES[0].cases[0]);
        assert!(headlines(&[alone]).is_none());
    }
}
