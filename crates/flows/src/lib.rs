//! TCP flows as the monitor samples them, and the format of their recordings. This crate does
//! not touch the host: `takt-host` samples, `takt flows` shows and records, `takt-report`
//! draws.

mod event;
mod filter;
mod flow;
mod line;
mod recorder;
mod recording;
mod sample;
mod survey;

pub use event::{Event, What};
pub use filter::Filter;
pub use flow::{Ends, Flow};
pub use line::{Header, Line, VERSION};
pub use recorder::{Recorder, Seen};
pub use recording::{BadRecording, Recording, Track};
pub use sample::{CongestionState, Limit, Sample, State};
pub use survey::Survey;
