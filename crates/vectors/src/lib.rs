//! The test vectors of `algo/`: the answers to its calls, step by step, in files under
//! `algo/vectors/`. Any implementation can be compared with them.
//!
//! They are recorded from the native build by `cargo run -p takt-vectors --example record`, and
//! replayed by every [`Machine`]: natively, and in the running kernel's BPF machine. Both must
//! give the answers in the files, and leave the same bytes behind.

mod byteclock;
mod calendar;
mod classify;
mod concept;
mod failure;
mod kernel;
mod link;
mod machine;
mod recorder;
mod replay;
mod slots;
mod soc;
mod turns;
mod window;

#[allow(missing_docs, non_camel_case_types, non_upper_case_globals, dead_code)]
#[allow(clippy::all, clippy::undocumented_unsafe_blocks)]
mod sys {
    include!(concat!(env!("OUT_DIR"), "/sys.rs"));
}

pub use concept::File;
pub use failure::Failure;
pub use kernel::{Kernel, Memory};
pub use machine::{Machine, Native};

use concept::file;

/// Every file of vectors.
pub fn files() -> [File; 8] {
    [
        file::<byteclock::ByteClock>(include_str!("../../../algo/vectors/byteclock.json")),
        file::<calendar::Calendar>(include_str!("../../../algo/vectors/calendar.json")),
        file::<link::Link>(include_str!("../../../algo/vectors/link.json")),
        file::<classify::Classify>(include_str!("../../../algo/vectors/classify.json")),
        file::<slots::Slots>(include_str!("../../../algo/vectors/slots.json")),
        file::<soc::Soc>(include_str!("../../../algo/vectors/soc.json")),
        file::<turns::Turns>(include_str!("../../../algo/vectors/turns.json")),
        file::<window::Window>(include_str!("../../../algo/vectors/window.json")),
    ]
}
