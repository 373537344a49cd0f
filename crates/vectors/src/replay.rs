//! Replays recorded vectors on a machine.

use serde::Deserialize;
use takt_algo::to_bytes;

use crate::{
    Failure, Native,
    concept::{Concept, Vector},
    machine::{Machine, State},
    recorder::value,
};

#[derive(Deserialize)]
#[serde(bound = "")]
struct Vectors<C: Concept> {
    vectors: Vec<Vector<C>>,
}

/// The number of steps.
pub fn replay<C: Concept>(text: &str, machine: &mut dyn Machine) -> Result<usize, Failure> {
    let unreadable = |source| Failure::Unreadable {
        file: C::FILE,
        source,
    };
    let Vectors { vectors } = serde_json::from_str::<Vectors<C>>(text).map_err(unreadable)?;
    for vector in &vectors {
        let mut native = Native::new();
        for machine in [&mut native, &mut *machine as &mut dyn Machine] {
            clear(machine.state());
            C::prepare(&vector.setup, machine.state())?;
            run(vector, machine)?;
        }
        compare(vector, native.state(), machine.state())?;
    }
    Ok(vectors.iter().map(|vector| vector.steps.len()).sum())
}

fn run<C: Concept>(vector: &Vector<C>, machine: &mut dyn Machine) -> Result<(), Failure> {
    for (step, exchange) in (1..).zip(&vector.steps) {
        let answered = value::<C>(&C::call(&exchange.call, machine)?)?;
        if answered != exchange.answer {
            return Err(Failure::Answer {
                file: C::FILE,
                vector: vector.name.clone(),
                step,
                call: serde_json::to_string(&exchange.call).unwrap_or_default(),
                expected: exchange.answer.to_string(),
                answered: answered.to_string(),
            });
        }
    }
    Ok(())
}

/// The comparison includes every clock, queue and counter, not only the answers.
fn compare<C: Concept>(vector: &Vector<C>, native: &State, state: &State) -> Result<(), Failure> {
    let pairs = to_bytes(native).iter().zip(to_bytes(state));
    match pairs.enumerate().find(|(_, (one, other))| one != other) {
        None => Ok(()),
        Some((offset, _)) => Err(Failure::State {
            file: C::FILE,
            vector: vector.name.clone(),
            offset,
        }),
    }
}

fn clear(state: &mut State) {
    // SAFETY: integers only, for which zero is a value.
    unsafe { std::ptr::from_mut(state).write_bytes(0, 1) }
}
