//! Which of the two slots a policy's questions get.

use crate::state::source::Source;

/// The slot for a policy's questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slot {
    pub index: u32,
    /// Plans in force read the answers there already.
    pub in_force: bool,
}

/// A slot that a link in force reads.
#[derive(Debug, Clone)]
pub(crate) struct SlotInUse {
    /// The link's policy; `None`: takt's record of it is lost.
    pub source: Option<Source>,
    pub index: u32,
}

impl Slot {
    /// Not one in which links in force look up answers to other questions. After a takt that died
    /// between two devices there may be no such slot; then packets are in wrong classes until this
    /// policy is in force.
    pub fn choose(source: &Source, in_use: &[SlotInUse]) -> Self {
        let same = |used: &&SlotInUse| used.source.as_ref() == Some(source);
        match (in_use.iter().find(same), in_use.first()) {
            (Some(same), _) => Self {
                index: same.index,
                in_force: true,
            },
            (None, other) => Self {
                index: other.map_or(0, |other| 1 - other.index),
                in_force: false,
            },
        }
    }
}
