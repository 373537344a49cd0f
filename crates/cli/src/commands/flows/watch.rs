//! Sampling flows repeatedly, and writing a recording.

use std::{
    collections::BTreeSet,
    fs::File,
    io::{self, BufWriter, IsTerminal, Write},
    path::PathBuf,
    time::{Duration, Instant, SystemTime},
};

use nix::time::{ClockId, clock_gettime};
use takt_flows::{Event, Filter, Flow, Header, Line, Recorder, VERSION};
use takt_host::{Events, Monitor};

use super::{Look, screen::Screen};
use crate::{
    args::Output,
    commands::{ending::Ending, stop::Stop},
};

pub struct Terms {
    pub interval: Duration,
    pub duration: Option<Duration>,
    pub record: Option<PathBuf>,
    pub shows: bool,
    pub filter: Filter,
    pub output: Output,
}

/// The longest time between two reads of events: the kernel has room for 11,000.
const FETCH_EVERY: Duration = Duration::from_millis(100);

pub fn run(terms: Terms) -> Result<(), Stop> {
    let ending = Ending::after(terms.duration).map_err(Stop::system)?;
    let (monitor, events) = Monitor::open_with_events()?;
    let mut watch = Watch {
        outlets: Outlets::open(&terms)?,
        flows: Look::with(monitor)?,
        events,
        filter: terms.filter,
        recorder: Recorder::default(),
        unwritten: vec![begin(terms.interval)],
        pending: Vec::new(),
        admitted: BTreeSet::new(),
    };
    let mut due = Instant::now();
    loop {
        watch.look()?;
        due = (due + terms.interval).max(Instant::now());
        if watch.wait_until(due, &ending)? {
            break;
        }
        if watch.outlets.is_closed {
            return Ok(());
        }
    }
    // Events since the last look.
    watch.look()
}

struct Watch {
    flows: Look,
    events: Events,
    filter: Filter,
    recorder: Recorder,
    outlets: Outlets,
    unwritten: Vec<Line>,
    pending: Vec<(Flow, Event)>,
    /// Flows that matched the filter at the last look.
    admitted: BTreeSet<u64>,
}

impl Watch {
    fn look(&mut self) -> Result<(), Stop> {
        let mut seen = self.flows.take()?;
        self.pending.extend(self.events.take()?);
        seen.retain(|seen| self.filter.admits(&seen.flow));
        let here: BTreeSet<u64> = seen.iter().map(|seen| seen.flow.id).collect();
        let mut events = std::mem::take(&mut self.pending);
        events.retain(|(flow, _)| {
            let is_known = here.contains(&flow.id) || self.admitted.contains(&flow.id);
            is_known || self.filter.admits(flow)
        });
        self.admitted = here;
        if let Some(screen) = &mut self.outlets.screen {
            screen.see(&seen);
        }
        let lost = self.events.lost()?;
        let mut lines = std::mem::take(&mut self.unwritten);
        lines.extend(self.recorder.take(monotonic_ns(), seen, events, lost));
        self.outlets.write(&lines)
    }

    /// Returns whether the end has come first.
    fn wait_until(&mut self, due: Instant, ending: &Ending) -> Result<bool, Stop> {
        loop {
            let next = due.min(Instant::now() + FETCH_EVERY);
            if ending.comes_before(next).map_err(Stop::system)? {
                return Ok(true);
            }
            if next == due {
                return Ok(false);
            }
            self.pending.extend(self.events.take()?);
        }
    }
}

/// The recording's output.
struct Outlets {
    record: Option<(PathBuf, BufWriter<File>)>,
    screen: Option<Screen>,
    prints_lines: bool,
    /// The reader of the output has closed it.
    is_closed: bool,
}

impl Outlets {
    fn open(terms: &Terms) -> Result<Self, Stop> {
        let record = match &terms.record {
            Some(path) => {
                let file = File::create(path).map_err(Stop::file(path))?;
                Some((path.clone(), BufWriter::new(file)))
            }
            None => None,
        };
        let as_text = terms.shows && terms.output == Output::Text;
        Ok(Self {
            record,
            screen: as_text.then(|| Screen::new(terms.interval, io::stdout().is_terminal())),
            prints_lines: terms.shows && terms.output == Output::Json,
            is_closed: false,
        })
    }

    fn write(&mut self, lines: &[Line]) -> Result<(), Stop> {
        if self.record.is_some() || self.prints_lines {
            let text: String = lines.iter().map(Line::to_json).collect();
            if let Some((path, file)) = &mut self.record {
                // Whole lines at once: a kill leaves half a line at most.
                let written = file.write_all(text.as_bytes()).and_then(|()| file.flush());
                written.map_err(Stop::file(path))?;
            }
            if self.prints_lines {
                self.print(&text);
            }
        }
        if let Some(screen) = &mut self.screen {
            let text = screen.draw(lines);
            self.print(&text);
        }
        Ok(())
    }

    fn print(&mut self, text: &str) {
        let mut out = io::stdout().lock();
        let printed = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        self.is_closed |= printed.is_err();
    }
}

fn begin(interval: Duration) -> Line {
    let unix = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    Line::Recording(Header {
        version: VERSION,
        kernel: takt_host::release(),
        interval_ns: interval.as_nanos() as u64,
        at_ns: monotonic_ns(),
        unix_ns: unix.unwrap_or_default().as_nanos() as u64,
    })
}

/// The clock of the kernel's time stamps.
pub fn monotonic_ns() -> u64 {
    clock_gettime(ClockId::CLOCK_MONOTONIC)
        .map_or(Duration::ZERO, Duration::from)
        .as_nanos() as u64
}
