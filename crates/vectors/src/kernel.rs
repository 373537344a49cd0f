//! The kernel's BPF machine, through `BPF_PROG_TEST_RUN`.

use std::{mem::MaybeUninit, ptr};

use libbpf_rs::{
    OpenObject, ProgramInput,
    skel::{OpenSkel, SkelBuilder},
};

use crate::{
    Failure,
    machine::{Machine, State, Step},
};

#[allow(clippy::all, clippy::undocumented_unsafe_blocks, dead_code, unused)]
mod skel {
    include!(concat!(env!("OUT_DIR"), "/vectors.skel.rs"));
}

const _: () = assert!(size_of::<skel::types::takt_vector_state>() == size_of::<State>());

/// The memory of a loaded program's skeleton.
pub type Memory = MaybeUninit<OpenObject>;

/// The running kernel. Loading needs root.
pub struct Kernel<'memory>(skel::VectorsSkel<'memory>);

impl<'memory> Kernel<'memory> {
    /// Loads the programs into the running kernel.
    pub fn load(memory: &'memory mut Memory) -> Result<Self, Failure> {
        let open = skel::VectorsSkelBuilder::default().open(memory)?;
        Ok(Self(open.load()?))
    }
}

impl Machine for Kernel<'_> {
    fn state(&mut self) -> &mut State {
        let bss = self.0.maps.bss_data.as_deref_mut();
        // The program has a variable, so the map is there.
        let state = &mut bss.expect("the state is a global variable").state;
        // SAFETY: the same C struct, bound by two generators.
        unsafe { &mut *ptr::from_mut(state).cast::<State>() }
    }

    fn run(&mut self, step: &mut Step) -> Result<(), Failure> {
        // SAFETY: integers only, and the kernel writes integers back.
        let context = unsafe {
            std::slice::from_raw_parts_mut(ptr::from_mut(step).cast::<u8>(), size_of::<Step>())
        };
        self.0.progs.takt_vectors_run.test_run(ProgramInput {
            context_in: Some(context),
            ..ProgramInput::default()
        })?;
        Ok(())
    }
}
