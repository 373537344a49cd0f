//! A picture for each capability: a figure of Takt's beside those of its peers. The page of the tour
//! opens with them.

use maud::{Markup, html};

use super::marker::colour;
use super::{Figure, WIDTH, px, scheduler_label, svg, text};
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
    /// More is better, and not less.
    is_gain: bool,
}

const HEADLINES: [Headline; 5] = [
    Headline {
        experiment: "pacing",
        measured: "five classes ask for 160 of a link's 100 Mbit/s: largest error of a share",
        metric: "share_error_max_percent",
        cases: &["sharing"],
        subject: "takt",
        peers: &["htb", "cake"],
        is_gain: false,
    },
    Headline {
        experiment: "background",
        measured: "a 100 KB upload beside a background one, longer than alone by",
        metric: "over_alone_percent",
        cases: &["384kbit-100kb"],
        subject: "takt",
        peers: &["prio-1600", "fq"],
        is_gain: false,
    },
    Headline {
        experiment: "radio",
        measured: "eight stations, one at 3 dB: total",
        metric: "total_bps",
        cases: &["bad1-cbr", "bad1-mixed"],
        subject: "takt-pw",
        peers: &["airtime", "pfifo"],
        is_gain: true,
    },
    Headline {
        experiment: "crowd",
        measured: "ten terminals upload: p99 of round trips",
        metric: "rtt_p99_ns",
        cases: &["upload-10-16ms"],
        subject: "takt",
        peers: &["bbr", "cubic"],
        is_gain: false,
    },
    Headline {
        experiment: "beats",
        measured: "a thread's start after its time, beside packets: p99",
        metric: "jitter_worst_thread_p99_ns",
        cases: &["40ms-600kBps", "40ms-saturated"],
        subject: "takt",
        peers: &["fifo", "deadline", "default"],
        is_gain: false,
    },
];

const PANEL: f64 = WIDTH / 2.0;
const NAME_RIGHT: f64 = 96.0;
const LEFT: f64 = 106.0;
/// Bars end here at the latest; their figures are behind.
const RIGHT: f64 = PANEL - 120.0;
const HEADING_PX: f64 = 56.0;
const ROW: f64 = 24.0;
const BAR: f64 = 15.0;
const GAP: f64 = 22.0;

/// A headline's figures, as far as the report has them; Takt's comes first.
struct Found {
    headline: &'static Headline,
    case: &'static str,
    figures: Vec<(&'static str, f64)>,
}

impl Headline {
    fn find(&'static self, report: &Report) -> Option<Found> {
        let figure = |scheduler: &str, case: &str| {
            let mut rows = report.rows.iter();
            let row = rows.find(|row| row.scheduler == scheduler && row.case == case);
            row?.number(self.metric)
        };
        let (case, own) = self
            .cases
            .iter()
            .find_map(|case| Some((*case, figure(self.subject, case)?)))?;
        let peers = self.peers.iter();
        let peers = peers.filter_map(|peer| Some((*peer, figure(peer, case)?)));
        Some(Found {
            headline: self,
            case,
            figures: [(self.subject, own)].into_iter().chain(peers).collect(),
        })
    }
}

impl Found {
    fn height(&self) -> f64 {
        HEADING_PX + self.figures.len() as f64 * ROW + GAP
    }

    /// With its upper edge at `top`.
    fn drawing(&self, top: f64) -> Markup {
        let headline = self.headline;
        let unit = Unit::split(headline.metric).1;
        let figure = |value: f64| match unit.heading() {
            Some(heading) => format!("{} {heading}", unit.format(value)),
            None => unit.format(value),
        };
        let most = self.figures.iter().map(|(_, value)| *value);
        let most = most.fold(0.0, f64::max);
        // A figure below zero, and one of nothing, has a bar that is just seen.
        let bar_px = |value: f64| ((RIGHT - LEFT) * (value / most).clamp(0.0, 1.0)).max(1.5);
        let better = if headline.is_gain { "more" } else { "less" };
        let note = format!("{}; {better} is better", self.case);
        html! {
            text x="10" y=(px(top + 14.0)) {
                tspan class="heading" { (headline.experiment) }
                tspan class="note" dx="9" { (note) }
            }
            (text("name", (10.0, top + 34.0), headline.measured))
            @for (at, (name, value)) in self.figures.iter().enumerate() {
                @let y = top + HEADING_PX + at as f64 * ROW;
                @let class = if at == 0 { "strong" } else { "tick" };
                (scheduler_label((NAME_RIGHT, y + 4.5), name))
                rect class=(format!("{} bar", colour(name))) rx="2"
                    x=(px(LEFT)) y=(px(y - BAR / 2.0)) width=(px(bar_px(*value))) height=(px(BAR)) {}
                (text(class, (LEFT + bar_px(*value) + 8.0, y + 4.5), &figure(*value)))
            }
        }
    }
}

/// The capabilities that were measured; `None` if there is but one.
pub fn headlines(reports: &[Report]) -> Option<Figure> {
    let found: Vec<Found> = reports
        .iter()
        .filter_map(|report| {
            let mut all = HEADLINES.iter();
            let headline = all.find(|headline| headline.experiment == report.experiment)?;
            headline.find(report)
        })
        .collect();
    if found.len() < 2 {
        return None;
    }
    // In two columns, the next one in the shorter.
    let mut bottoms = [4.0, 4.0];
    let mut drawings = Vec::new();
    for one in &found {
        let column = usize::from(bottoms[1] < bottoms[0]);
        drawings.push(html! {
            g transform=(format!("translate({} 0)", px(column as f64 * PANEL))) {
                (one.drawing(bottoms[column]))
            }
        });
        bottoms[column] += one.height();
    }
    Some(Figure {
        title: "At a glance",
        caption: "A figure of each capability, beside those of its peers.",
        drawing: svg(
            bottoms[0].max(bottoms[1]),
            "A figure of each capability, for Takt and its peers",
            html! { @for drawing in drawings { (drawing) } },
        ),
    })
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
    fn every_capability_has_a_picture_with_its_peers() {
        let reports: Vec<Report> = HEADLINES
            .iter()
            .map(|headline| report(headline, headline.cases[0]))
            .collect();
        let shown = headlines(&reports).unwrap().drawing.into_string();
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
    fn one_experiment_alone_has_no_picture() {
        let alone = report(&HEADLINES[0], HEADLINES[0].cases[0]);
        assert!(headlines(&[alone]).is_none());
    }
}
