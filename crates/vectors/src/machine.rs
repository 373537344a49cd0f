//! Machines that run `algo/`, one step at a time.

use takt_algo::{Plain, zeroed_box};

use crate::{
    Failure,
    sys::{takt_vector_run, takt_vector_state, takt_vector_step},
};

/// The state on which the steps of a vector work.
pub type State = takt_vector_state;
/// A call and, once it has run, its answer.
pub type Step = takt_vector_step;

// SAFETY: generated from structs of integers that spell out their padding.
unsafe impl Plain for State {}
// SAFETY: as above.
unsafe impl Plain for Step {}

/// A machine that replays calls: this process, or a kernel.
pub trait Machine {
    /// The state.
    fn state(&mut self) -> &mut State;

    /// Runs the step on the state, and fills in its answer.
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
        // SAFETY: two valid structs; every index in algo/ is masked, and the packet is read
        // only up to the length in the step.
        unsafe { takt_vector_run(&mut *self.0, step, packet_at) };
        Ok(())
    }
}
