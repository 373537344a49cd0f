use serde::{Deserialize, Serialize};

use crate::{event::Event, flow::Flow, sample::Sample};

/// The format's version. A reader refuses another.
pub const VERSION: u32 = 1;

/// The first line of a recording.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The writer's [`VERSION`].
    pub version: u32,
    /// As `uname -r` prints it.
    pub kernel: String,
    /// Between two samples.
    pub interval_ns: u64,
    /// CLOCK_MONOTONIC, as all times that follow.
    pub at_ns: u64,
    /// CLOCK_REALTIME at that moment.
    pub unix_ns: u64,
}

/// A line of a recording, which is a JSON object. `kind` names its type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Line {
    /// The first line, and only the first.
    Recording(Header),
    /// A flow appears, or more of it becomes known. It precedes the flow's first sample.
    Flow(Flow),
    /// A sample of a flow.
    Sample(Sample),
    /// The flow is gone.
    End {
        /// When that was noticed.
        at_ns: u64,
        /// The flow's id.
        flow: u64,
    },
    /// Events for which the kernel's buffer had no room since the last line of this kind.
    Lost {
        /// When they were counted.
        at_ns: u64,
        /// Their number.
        events: u64,
    },
    /// The event's own `kind` is used.
    #[serde(untagged)]
    Event(Event),
}

impl Line {
    /// With a newline.
    pub fn to_json(&self) -> String {
        // Numbers, strings and string keys: JSON can represent all of them.
        serde_json::to_string(self).unwrap_or_default() + "\n"
    }
}
