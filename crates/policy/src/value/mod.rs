//! The spellings of single values: text in, number out. Independent of tables, spans and the rest
//! of the policy.

pub(crate) mod cpus;
pub(crate) mod decibel;
pub(crate) mod decimal;
pub(crate) mod device;
pub(crate) mod dscp;
pub(crate) mod duration;
pub(crate) mod endpoint;
pub(crate) mod exact;
pub(crate) mod fraction;
pub(crate) mod join;
pub(crate) mod mark;
pub(crate) mod name;
pub(crate) mod owner;
pub(crate) mod path;
pub(crate) mod ports;
pub(crate) mod prefix;
pub(crate) mod priority;
pub(crate) mod proto;
pub(crate) mod rate;
pub(crate) mod weight;

use serde_json::{Value, json};

use crate::Code;

const WORD_MAX_BYTES: usize = 32;

/// Why a spelling was refused. The message reads after the value in question.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fault {
    pub code: Code,
    pub message: String,
    pub help: String,
}

impl Fault {
    pub fn new(code: Code, message: impl Into<String>, help: impl Into<String>) -> Fault {
        Fault {
            code,
            message: message.into(),
            help: help.into(),
        }
    }

    /// The error of a word that is not one of `choices`.
    pub fn not_a_choice(key: &str, text: &str, choices: &[&str]) -> Fault {
        let quoted: Vec<_> = choices
            .iter()
            .map(|choice| format!("\"{choice}\""))
            .collect();
        let takes = format!("{key} takes {}", quoted.join(" or "));
        let help = match closest(text, choices.iter().copied()) {
            Some(meant) if choices.len() > 1 => format!("did you mean \"{meant}\"? {takes}"),
            _ => takes,
        };
        Fault::new(
            Code::BadValue,
            format!("`{text}` is not a value of {key}"),
            help,
        )
    }
}

/// The candidate most similar to `word`, if any is similar.
pub(crate) fn closest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    // The distance takes time in proportion to the length, and no key is this long.
    if word.len() > WORD_MAX_BYTES {
        return None;
    }
    let word = word.to_ascii_lowercase();
    candidates
        .into_iter()
        .map(|candidate| (distance(&word, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= candidate.len().div_ceil(3).max(1))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Edits between two words; a word that begins with the other, as `prio` and `priority`, counts as
/// two.
fn distance(word: &str, candidate: &str) -> usize {
    let is_part = candidate.starts_with(word) || word.starts_with(candidate);
    if is_part && word.len().min(candidate.len()) >= 3 {
        return 2;
    }
    strsim::damerau_levenshtein(word, candidate)
}

/// A number as [`unsigned`] takes it, as a regular expression.
const UNSIGNED: &str = r"(0[xX][\da-fA-F]+|\d+)";

/// The words in any case, as a regular expression: the dialect of JSON schemas has no flag for it.
fn any_case<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let letter = |c: char| match c.is_ascii_alphabetic() {
        true => format!("[{}{}]", c.to_ascii_lowercase(), c.to_ascii_uppercase()),
        false => c.to_string(),
    };
    let words: Vec<String> = words
        .map(|word| word.chars().map(letter).collect())
        .collect();
    words.join("|")
}

/// The JSON schema of text of this form, or an integer from 0 on.
fn text_or_integer(pattern: &str, integer_max: u64) -> Value {
    json!({"anyOf": [
        {"type": "integer", "minimum": 0, "maximum": integer_max},
        {"type": "string", "pattern": pattern},
    ]})
}

/// A decimal or, with `0x`, hexadecimal number.
pub(crate) fn unsigned(text: &str) -> Option<u64> {
    let (digits, radix) = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => (digits, 16),
        None => (text, 10),
    };
    // from_str_radix accepts a sign; a policy does not.
    let is_plain = !digits.is_empty() && digits.chars().all(|c| c.is_digit(radix));
    is_plain.then(|| u64::from_str_radix(digits, radix).ok())?
}
