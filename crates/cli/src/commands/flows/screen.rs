//! The live view: the fastest flows on top, events below.

use std::{
    collections::{BTreeMap, VecDeque},
    fmt::Write,
    time::Duration,
};

use takt_flows::{Ends, Limit, Line, Seen, What};

use super::table;
use crate::print::short;

/// The size for an output without one, such as a pipe.
const ROWS: usize = 50;
const HAPPENINGS: usize = 8;
/// Round trips shown as bars, newest at the right.
const BARS: usize = 16;
const BAR_LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

pub struct Screen {
    interval: Duration,
    /// A screen that is drawn over the one before.
    is_terminal: bool,
    seen: Vec<Seen>,
    histories: BTreeMap<u64, History>,
    happenings: VecDeque<String>,
    ends: BTreeMap<u64, Ends>,
    began_ns: Option<u64>,
    lost: u64,
}

#[derive(Default)]
struct History {
    bytes: u64,
    moved_bytes: u64,
    rtts_us: VecDeque<u32>,
}

impl Screen {
    pub fn new(interval: Duration, is_terminal: bool) -> Self {
        Self {
            interval,
            is_terminal,
            seen: Vec::new(),
            histories: BTreeMap::new(),
            happenings: VecDeque::new(),
            ends: BTreeMap::new(),
            began_ns: None,
            lost: 0,
        }
    }

    /// The content of the next drawing.
    pub fn see(&mut self, seen: &[Seen]) {
        let mut histories = std::mem::take(&mut self.histories);
        for Seen { flow, sample } in seen {
            let bytes = sample.acked_bytes + sample.received_bytes;
            let known = histories.remove(&flow.id);
            // Bytes from before the first look have no rate now.
            let mut history = known.unwrap_or(History {
                bytes,
                ..History::default()
            });
            history.moved_bytes = bytes.saturating_sub(history.bytes);
            history.bytes = bytes;
            history.rtts_us.extend(sample.rtt_us);
            if history.rtts_us.len() > BARS {
                history.rtts_us.pop_front();
            }
            self.histories.insert(flow.id, history);
        }
        self.seen = seen.to_vec();
        let moved = |seen: &Seen| {
            self.histories
                .get(&seen.flow.id)
                .map_or(0, |h| h.moved_bytes)
        };
        self.seen
            .sort_unstable_by_key(|seen| (std::cmp::Reverse(moved(seen)), seen.flow.id));
    }

    pub fn draw(&mut self, lines: &[Line]) -> String {
        lines.iter().for_each(|line| self.hear(line));
        let size = terminal_size::terminal_size().filter(|_| self.is_terminal);
        let (columns, rows) = size.map_or((usize::MAX, ROWS), |(width, height)| {
            (width.0.into(), height.0.into())
        });
        let mut text = self.summary();
        let room = rows.saturating_sub(HAPPENINGS + 5).max(1);
        let shown = &self.seen[..self.seen.len().min(room)];
        let table: Vec<_> = shown.iter().map(table::row).collect();
        let mut bars = shown.iter().map(|seen| self.bars(seen.flow.id));
        for (at, line) in table::text(&table).lines().enumerate() {
            let bars = match at {
                0 => "round trips".to_owned(),
                _ => bars.next().unwrap_or_default(),
            };
            let _ = writeln!(text, "{bars:<BARS$}  {line}");
        }
        if shown.len() < self.seen.len() {
            let _ = writeln!(text, "and {} more", self.seen.len() - shown.len());
        }
        text.push('\n');
        for happening in &self.happenings {
            let _ = writeln!(text, "{happening}");
        }
        if self.is_terminal {
            over(&text, columns)
        } else {
            text + "\n"
        }
    }

    fn summary(&self) -> String {
        let full = |limit| {
            let seen = self.seen.iter();
            seen.filter(|seen| seen.sample.limit == limit).count()
        };
        let moved: u64 = self
            .histories
            .values()
            .map(|history| history.moved_bytes)
            .sum();
        let bps = (8 * moved) as f64 / self.interval.as_secs_f64();
        let mut text = format!(
            "{} flows, {}bit/s; window full: {}, receiver's: {}",
            self.seen.len(),
            short(bps as u64),
            full(Limit::Window),
            full(Limit::Receiver),
        );
        if self.lost > 0 {
            let _ = write!(text, "; {} events were lost", self.lost);
        }
        text + "\n\n"
    }

    fn bars(&self, flow: u64) -> String {
        let rtts = self.histories.get(&flow).map(|history| &history.rtts_us);
        let rtts = rtts.into_iter().flatten();
        let most = rtts.clone().max().copied().unwrap_or(0).max(1);
        let bar = |rtt_us: &u32| {
            let level = u64::from(*rtt_us) * (BAR_LEVELS.len() as u64 - 1) / u64::from(most);
            BAR_LEVELS[level as usize]
        };
        rtts.map(bar).collect()
    }

    fn hear(&mut self, line: &Line) {
        match line {
            Line::Recording(header) => self.began_ns = Some(header.at_ns),
            Line::Flow(flow) => {
                self.ends.insert(flow.id, flow.ends);
            }
            Line::End { flow, .. } => {
                self.ends.remove(flow);
            }
            Line::Lost { events, .. } => self.lost += events,
            // These come and go with every burst.
            Line::Event(event) if !matches!(event.what, What::Limit { .. }) => {
                let passed_ns = event
                    .at_ns
                    .saturating_sub(self.began_ns.unwrap_or(event.at_ns));
                let ends = self.ends.get(&event.flow);
                let ends = ends.map_or("?".to_owned(), |ends| {
                    format!("{} > {}", ends.local, ends.remote)
                });
                self.happenings.push_back(format!(
                    "{:>10.3} s  {ends}  {}, cwnd {}",
                    passed_ns as f64 / 1e9,
                    event.what.text(),
                    event.cwnd_segments
                ));
                if self.happenings.len() > HAPPENINGS {
                    self.happenings.pop_front();
                }
            }
            Line::Event(_) | Line::Sample(_) => {}
        }
    }
}

/// From the first line of the screen on, with all earlier text erased. The terminal's settings stay
/// as they are, so there is nothing to restore.
fn over(text: &str, columns: usize) -> String {
    let lines = text.lines().map(|line| {
        let line: String = line.chars().take(columns).collect();
        format!("{line}\x1b[K\n")
    });
    format!("\x1b[H{}\x1b[J", lines.collect::<String>())
}
