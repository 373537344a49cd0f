//! One header of `algo/`, as its vectors see it.

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
    /// The file's own explanation, line by line.
    const ABOUT: &'static [&'static str];

    /// What a vector starts with.
    type Setup: Serialize + DeserializeOwned;
    type Call: Serialize + DeserializeOwned;
    type Answer: Serialize;

    /// The state is all zero.
    fn prepare(setup: &Self::Setup, state: &mut State) -> Result<(), Failure>;
    fn call(call: &Self::Call, machine: &mut dyn Machine) -> Result<Self::Answer, Failure>;

    /// Think up the calls; the native machine answers them.
    fn record() -> Result<Vec<Vector<Self>>, Failure>;
}

/// One story, from an empty state on.
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

/// A file of vectors, whatever concept it is about.
pub struct File {
    /// The file's stem.
    pub name: &'static str,
    /// As it was when this was compiled.
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
    /// The text that the native build would write today.
    pub fn record(&self) -> Result<String, Failure> {
        (self.record)()
    }

    /// Hold the machine against every vector; how many steps that were.
    pub fn replay(&self, machine: &mut dyn Machine) -> Result<usize, Failure> {
        (self.replay)(self.text, machine)
    }
}
