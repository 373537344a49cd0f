//! A recording that is read again.

use std::collections::BTreeMap;

use thiserror::Error;

use crate::{
    event::Event,
    flow::Flow,
    line::{Header, Line, VERSION},
    sample::Sample,
};

/// A recording's flows, in order of appearance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recording {
    /// The first line.
    pub header: Header,
    /// One for each flow.
    pub tracks: Vec<Track>,
    /// Events for which the kernel's buffer had no room.
    pub lost_events: u64,
}

/// All that is known of a flow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Track {
    /// Its last description.
    pub flow: Flow,
    /// Its samples, in the order of their lines.
    pub samples: Vec<Sample>,
    /// Its events, likewise.
    pub events: Vec<Event>,
    /// When it was found gone; `None` if it existed to the end.
    pub ended_ns: Option<u64>,
}

/// Why a text is no recording.
#[derive(Debug, Error)]
pub enum BadRecording {
    /// The first line is missing.
    #[error("it is empty, or its first line is not a recording's: {{\"kind\":\"recording\",…}}")]
    NoHeader,
    /// Another version of takt has written it in another format.
    #[error("it is of version {found}, and this takt reads version {VERSION}")]
    OtherVersion {
        /// The version in its first line.
        found: u32,
    },
    /// A line is no valid [`Line`].
    #[error("line {line}: {reason}")]
    BadLine {
        /// Counted from 1.
        line: usize,
        /// The parser's message.
        reason: serde_json::Error,
    },
    /// A line refers to a flow before the flow's own line.
    #[error("line {line} is about flow {flow}, which no line before names")]
    Nameless {
        /// Counted from 1.
        line: usize,
        /// The flow's id.
        flow: u64,
    },
}

impl Recording {
    /// A killed writer may leave an incomplete last line, which is ignored.
    pub fn parse(text: &str) -> Result<Self, BadRecording> {
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let lines = whole.lines().enumerate().map(|(at, line)| {
            let read = serde_json::from_str::<Line>(line);
            read.map_err(|reason| BadRecording::BadLine {
                line: at + 1,
                reason,
            })
        });
        Self::from_lines(lines)
    }

    /// From lines that were not read from a text.
    pub fn from_parsed(lines: impl IntoIterator<Item = Line>) -> Result<Self, BadRecording> {
        Self::from_lines(lines.into_iter().map(Ok))
    }

    /// Its lines, flow by flow.
    pub fn lines(&self) -> Vec<Line> {
        let mut lines = vec![Line::Recording(self.header.clone())];
        for track in &self.tracks {
            lines.push(Line::Flow(track.flow.clone()));
            lines.extend(track.samples.iter().cloned().map(Line::Sample));
            lines.extend(track.events.iter().cloned().map(Line::Event));
            lines.extend(track.ended_ns.map(|at_ns| Line::End {
                at_ns,
                flow: track.flow.id,
            }));
        }
        if self.lost_events > 0 {
            lines.push(Line::Lost {
                at_ns: self.span_ns().map_or(self.header.at_ns, |(_, to_ns)| to_ns),
                events: self.lost_events,
            });
        }
        lines
    }

    /// The time from the beginning to the last line; `None` if there was none.
    pub fn span_ns(&self) -> Option<(u64, u64)> {
        let moments = self.tracks.iter().flat_map(|track| {
            let samples = track.samples.iter().map(|sample| sample.at_ns);
            samples.chain(track.events.iter().map(|event| event.at_ns))
        });
        moments.max().map(|last_ns| (self.header.at_ns, last_ns))
    }

    /// Only the `most` flows with the most bytes, the largest first.
    pub fn heaviest(mut self, flows_max: usize) -> Self {
        self.tracks
            .sort_unstable_by_key(|track| (std::cmp::Reverse(track.moved_bytes()), track.flow.id));
        self.tracks.truncate(flows_max);
        self
    }

    /// With at most so many samples of each flow, evenly chosen.
    pub fn thinned(mut self, samples_max: usize) -> Self {
        for track in &mut self.tracks {
            let every = track.samples.len().div_ceil(samples_max.max(1)).max(1);
            let mut at = 0;
            track.samples.retain(|_| {
                at += 1;
                (at - 1) % every == 0
            });
        }
        self
    }

    fn from_lines(
        mut lines: impl Iterator<Item = Result<Line, BadRecording>>,
    ) -> Result<Self, BadRecording> {
        let Some(Ok(Line::Recording(header))) = lines.next() else {
            return Err(BadRecording::NoHeader);
        };
        if header.version != VERSION {
            return Err(BadRecording::OtherVersion {
                found: header.version,
            });
        }
        let mut recording = Self {
            header,
            tracks: Vec::new(),
            lost_events: 0,
        };
        let mut places = BTreeMap::new();
        for (at, line) in lines.enumerate() {
            recording
                .add(line?, &mut places)
                .map_err(|flow| BadRecording::Nameless { line: at + 2, flow })?;
        }
        Ok(recording)
    }

    /// The error is the missing flow's id.
    fn add(&mut self, line: Line, places: &mut BTreeMap<u64, usize>) -> Result<(), u64> {
        let place = |flow: u64| places.get(&flow).copied().ok_or(flow);
        match line {
            Line::Recording(_) => {}
            Line::Flow(flow) => match place(flow.id) {
                Ok(place) => self.tracks[place].flow = flow,
                Err(id) => {
                    places.insert(id, self.tracks.len());
                    self.tracks.push(Track::new(flow));
                }
            },
            Line::Sample(sample) => self.tracks[place(sample.flow)?].samples.push(sample),
            Line::Event(event) => self.tracks[place(event.flow)?].events.push(event),
            Line::End { at_ns, flow } => self.tracks[place(flow)?].ended_ns = Some(at_ns),
            Line::Lost { events, .. } => {
                self.lost_events = self.lost_events.saturating_add(events);
            }
        }
        Ok(())
    }
}

impl Track {
    /// While it was observed.
    fn moved_bytes(&self) -> u64 {
        let bytes = |sample: &Sample| sample.acked_bytes.saturating_add(sample.received_bytes);
        match (self.samples.first(), self.samples.last()) {
            (Some(first), Some(last)) => bytes(last).saturating_sub(bytes(first)),
            _ => 0,
        }
    }

    fn new(flow: Flow) -> Self {
        Self {
            flow,
            samples: Vec::new(),
            events: Vec::new(),
            ended_ns: None,
        }
    }
}
