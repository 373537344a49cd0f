use serde::{Deserialize, Serialize};

use crate::{event::Event, flow::Flow, sample::Sample};

/// Of the format. A reader refuses another.
pub const VERSION: u32 = 1;

/// How a recording begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// [`VERSION`], of who wrote it.
    pub version: u32,
    /// As `uname -r` prints it.
    pub kernel: String,
    /// Between two looks at the flows.
    pub interval_ns: u64,
    /// CLOCK_MONOTONIC, as all times that follow.
    pub at_ns: u64,
    /// CLOCK_REALTIME at that moment.
    pub unix_ns: u64,
}

/// A line of a recording, which is an object in JSON. `kind` says which.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Line {
    /// The first line, and no other.
    Recording(Header),
    /// A flow appears, or something of it has become known. Before its first sample.
    Flow(Flow),
    /// How a flow was.
    Sample(Sample),
    /// It was not there any more.
    End {
        /// When it was looked for.
        at_ns: u64,
        /// The flow's id.
        flow: u64,
    },
    /// So many events found no room in the kernel since the line before of this kind.
    Lost {
        /// When they were counted.
        at_ns: u64,
        /// How many.
        events: u64,
    },
    /// `kind` is then its own.
    #[serde(untagged)]
    Event(Event),
}

impl Line {
    /// With the end of the line.
    pub fn to_json(&self) -> String {
        // Numbers, strings and keys that are strings: nothing that JSON cannot say.
        serde_json::to_string(self).unwrap_or_default() + "\n"
    }
}
