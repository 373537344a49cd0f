//! Something that runs `algo/`, one step at a time.

use takt_algo::{Plain, zeroed_box};

use crate::{
    Failure,
    sys::{takt_vector_run, takt_vector_state, takt_vector_step},
};

/// What the steps of a vector work on.
pub type State = takt_vector_state;
/// A call and, once it has run, its answer.
pub type Step = takt_vector_step;

// SAFETY: generated from structs of integers that spell out their padding.
unsafe impl Plain for State {}
// SAFETY: as above.
unsafe impl Plain for Step {}

/// What replays calls: this process, or a kernel.
pub trait Machine {
    /// The state that calls work on.
    fn state(&mut self) -> &mut State;

    /// Run the step on the state, and fill in its answer.
    fn run(&mut self, step: &mut Step) -> Result<(), Failure>;
}

/// The native build, in this process.
pub struct Native(Box<State>);

impl Native {
    /// In this process, from zero.
    pub fn new() -> Self {
        Self(zeroed_box())
    }
}

impl Default for Native {
    fn default() -> Self {
        Self::new()
    }
}

impl Machine for Native {
    fn state(&mut self) -> &mut State {
        &mut self.0
    }

    fn run(&mut self, step: &mut Step) -> Result<(), Failure> {
        let packet_at = self.0.packet.as_ptr() as u64;
        // SAFETY: two valid structs; every index in algo/ is masked, and only
        // as much is read of the packet as the step says.
        unsafe { takt_vector_run(&mut *self.0, step, packet_at) };
        Ok(())
    }
}
