//! Recording vectors from the native build.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::{
    Failure, Native,
    concept::{Concept, Exchange, Vector},
    machine::Machine,
};

/// A vector being recorded.
pub struct Recorder<C: Concept> {
    vector: Vector<C>,
    machine: Native,
}

impl<C: Concept> Recorder<C> {
    pub fn new(name: &str, setup: C::Setup) -> Result<Self, Failure> {
        let mut machine = Native::new();
        C::prepare(&setup, machine.state())?;
        let vector = Vector {
            name: name.to_owned(),
            setup,
            steps: Vec::new(),
        };
        Ok(Self { vector, machine })
    }

    /// Records the call and its answer, which later calls may depend on.
    pub fn call(&mut self, call: C::Call) -> Result<C::Answer, Failure> {
        let answer = C::call(&call, &mut self.machine)?;
        self.vector.steps.push(Exchange {
            call,
            answer: value::<C>(&answer)?,
        });
        Ok(answer)
    }

    pub fn done(self) -> Vector<C> {
        self.vector
    }
}

/// The answer as the file has it.
pub fn value<C: Concept>(answer: &C::Answer) -> Result<Value, Failure> {
    serde_json::to_value(answer).map_err(unreadable::<C>)
}

/// The whole file: JSON with a step on each line.
pub fn text<C: Concept>() -> Result<String, Failure> {
    let vectors: Vec<String> = C::record()?
        .iter()
        .map(vector_text)
        .collect::<Result<_, _>>()?;
    let about = lines(C::ABOUT.iter().map(|line| json!(line).to_string()), 4);
    let vectors = lines(vectors, 4);
    Ok(format!(
        "{{\n  \"about\": {about},\n  \"vectors\": {vectors}\n}}\n"
    ))
}

fn vector_text<C: Concept>(vector: &Vector<C>) -> Result<String, Failure> {
    let text = |value| serde_json::to_string(&value).map_err(unreadable::<C>);
    let setup = serde_json::to_string(&vector.setup).map_err(unreadable::<C>)?;
    let steps: Vec<String> = vector
        .steps
        .iter()
        .map(|step| serde_json::to_string(step).map_err(unreadable::<C>))
        .collect::<Result<_, _>>()?;
    Ok(format!(
        "{{\n      \"name\": {},\n      \"setup\": {setup},\n      \"steps\": {}\n    }}",
        text(json!(vector.name))?,
        lines(steps, 8)
    ))
}

/// An array with an element on each line.
fn lines(elements: impl IntoIterator<Item = String>, indent: usize) -> String {
    let mut text = String::new();
    for element in elements {
        let comma = if text.is_empty() { "" } else { "," };
        // Writing to a String cannot fail.
        let _ = write!(text, "{comma}\n{:indent$}{element}", "");
    }
    format!("[{text}\n{:1$}]", "", indent - 2)
}

fn unreadable<C: Concept>(source: serde_json::Error) -> Failure {
    Failure::Unreadable {
        file: C::FILE,
        source,
    }
}
