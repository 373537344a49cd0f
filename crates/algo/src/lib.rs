//! The decisions of `algo/`, bound for Rust: the same C that runs in the kernel, behind safe
//! types.
//!
//! Every array index in `algo/` is masked and every loop bounded. So with any arguments these
//! calls touch no memory beyond the structs that they are given. The `unsafe` blocks here rely
//! on that.

/// The bindings of `algo/*.h`, documented in the headers.
#[allow(missing_docs, non_camel_case_types, non_upper_case_globals, dead_code)]
#[allow(clippy::all, clippy::undocumented_unsafe_blocks)]
pub mod sys {
    include!(concat!(env!("OUT_DIR"), "/sys.rs"));
}

mod bandwidth;
mod calendar;
mod clock;
mod codel;
mod download;
pub mod early;
mod exact;
mod framing;
mod gap;
mod histogram;
mod key;
mod lead;
mod link;
mod plain;
mod port;
mod shared_clock;
mod slots;
mod soc;
mod starve;
mod stations;
mod stock;
mod turns;
mod uploads;
mod window;

pub use bandwidth::Bandwidth;
pub use calendar::Calendar;
pub use clock::ByteClock;
pub use codel::{Codel, CodelTerms};
pub use download::{Download, Downloaded};
pub use gap::{GapLink, Left};
pub use histogram::{BUCKETS, bucket};
pub use key::{has_ports, ip_at, read_ecn, read_key, with_dscp};
pub use lead::Lead;
pub use link::{Dequeued, Link};
pub use plain::{Plain, from_bytes, to_bytes, zeroed_box};
pub use port::{Port, Pulled, Sender};
pub use shared_clock::{Activity, SharedClock};
pub use slots::{Slots, Span};
pub use soc::{Soc, SocLaw, SocStats, SocTerms};
pub use starve::Starve;
pub use stations::{Address, Known, Stations, TableFull};
pub use sys::{takt_download_sample as DownloadSample, takt_window_sample as FlowSample};
pub use turns::Turns;
pub use uploads::Upload;
pub use window::{Bounds, Flow, Group, RoundTrips, WindowTerms};
