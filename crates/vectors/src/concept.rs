//! One header of `algo/` and its vectors.

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{
    Failure,
    machine::{Machine, State},
    recorder, replay,
};

pub trait Concept: Sized {
    /// The name of its file.
    const FILE: &'static str;
    /// The explanation at the head of the file, line by line.
    const ABOUT: &'static [&'static str];

    /// A vector's initial parameters.
    type Setup: Serialize + DeserializeOwned;
    type Call: Serialize + DeserializeOwned;
    type Answer: Serialize;

    /// The state is all zero before.
    fn prepare(setup: &Self::Setup, state: &mut State) -> Result<(), Failure>;
    fn call(call: &Self::Call, machine: &mut dyn Machine) -> Result<Self::Answer, Failure>;

    /// Makes up the calls; the native machine answers them.
    fn record() -> Result<Vec<Vector<Self>>, Failure>;
}

/// One sequence of calls, from an empty state on.
#[derive(Serialize, Deserialize)]
#[serde(bound = "", deny_unknown_fields)]
pub struct Vector<C: Concept> {
    pub name: String,
    pub setup: C::Setup,
    pub steps: Vec<Exchange<C>>,
}

#[derive(Serialize, Deserialize)]
#[serde(bound = "", deny_unknown_fields)]
pub struct Exchange<C: Concept> {
    pub call: C::Call,
    pub answer: Value,
}

/// A file of vectors, of any concept.
pub struct File {
    /// The file's stem.
    pub name: &'static str,
    /// Its text when this was compiled.
    pub text: &'static str,
    record: fn() -> Result<String, Failure>,
    replay: fn(&str, &mut dyn Machine) -> Result<usize, Failure>,
}

pub fn file<C: Concept>(text: &'static str) -> File {
    File {
        name: C::FILE,
        text,
        record: recorder::text::<C>,
        replay: replay::replay::<C>,
    }
}

impl File {
    /// The text that the native build would write now.
    pub fn record(&self) -> Result<String, Failure> {
        (self.record)()
    }

    /// Compares the machine with every vector; returns the number of steps.
    pub fn replay(&self, machine: &mut dyn Machine) -> Result<usize, Failure> {
        (self.replay)(self.text, machine)
    }
}
