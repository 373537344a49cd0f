//! The spellings of single values: text in, number out. Independent of tables, spans and the rest
//! of the policy.

#[cfg(test)]
mod advice;
pub(crate) mod cpus;
pub(crate) mod decibel;
pub(crate) mod decimal;
pub(crate) mod device;
pub(crate) mod dscp;
pub(crate) mod duration;
pub(crate) mod endpoint;
pub(crate) mod exact;
mod foreign;
pub(crate) mod fraction;
pub(crate) mod framing;
pub(crate) mod join;
pub(crate) mod mark;
mod meant;
pub(crate) mod name;
pub(crate) mod owner;
pub(crate) mod path;
pub(crate) mod ports;
pub(crate) mod prefix;
pub(crate) mod priority;
pub(crate) mod proto;
pub(crate) mod rate;
pub(crate) mod reflector;
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
        let similar = || closest(text, choices.iter().copied());
        let help = match foreign::meant(key, text).or_else(similar) {
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

/// The candidate that `word` most likely means: one that differs in case or in hyphens alone, or
/// else the most similar one. `None` if no candidate is similar, or several are just as much.
pub(crate) fn closest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let [meant] = nearest(word, candidates, WORD_MAX_BYTES)[..] else {
        return None;
    };
    // Another number is another thing, not a slip.
    digits(word).eq(digits(meant)).then_some(meant)
}

/// The most similar candidates, of those with at most so many edits; several are as similar.
fn nearest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
    edits_max: usize,
) -> Vec<&'a str> {
    let mut nearest = Vec::new();
    // The distance takes time in proportion to the length, and no key is this long.
    if word.len() > WORD_MAX_BYTES {
        return nearest;
    }
    let word = folded(word);
    let mut least = edits_max;
    for candidate in candidates {
        let other = folded(candidate);
        let edits = distance(&word, &other);
        if edits > least.min(other.len().div_ceil(3).max(1)) {
            continue;
        }
        if edits < least {
            nearest.clear();
            least = edits;
        }
        nearest.push(candidate);
    }
    nearest
}

/// Without what is no difference between two words.
pub(crate) fn folded(word: &str) -> String {
    word.to_ascii_lowercase().replace(['-', ' '], "_")
}

fn digits(word: &str) -> impl Iterator<Item = char> {
    word.chars().filter(char::is_ascii_digit)
}

/// Edits between two words. A word that begins with the other, as `prio` and `priority`, and one of
/// several in the other, as `port` and `src_port`, counts as two at most.
fn distance(word: &str, candidate: &str) -> usize {
    let edits = strsim::damerau_levenshtein(word, candidate);
    let is_begin = candidate.starts_with(word) || word.starts_with(candidate);
    let is_part = is_begin || candidate.split('_').any(|part| part == word);
    if is_part && word.len().min(candidate.len()) >= 3 {
        edits.min(2)
    } else {
        edits
    }
}

/// A number as [`unsigned`] takes it, as a regular expression.
const UNSIGNED: &str = r"(0[xX][\da-fA-F]+|\d+)";

/// The words in any case, as a regular expression: the dialect of JSON schemas has no flag for it.
fn any_case<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let letter = |c: char| {
        if c.is_ascii_alphabetic() {
            format!("[{}{}]", c.to_ascii_lowercase(), c.to_ascii_uppercase())
        } else {
            c.to_string()
        }
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
