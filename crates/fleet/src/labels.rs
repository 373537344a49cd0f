//! What a host is, in words that selectors ask for.

use std::collections::BTreeMap;

/// The names and values of a host's labels. Its own configuration and kernel give them, so nothing
/// else can move a host from one assignment to another.
pub type Labels = BTreeMap<String, String>;

/// Of one host.
pub const LABELS_MAX: usize = 16;
/// Of all names and values of one host, or reports would be long.
pub const LABELS_MAX_BYTES: usize = 320;
const NAME_MAX_BYTES: usize = 24;
const VALUE_MAX_BYTES: usize = 48;

/// Why something is no label.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadLabel {
    /// Not `name=value`.
    #[error("a label is NAME=VALUE, not {0:?}")]
    NoPair(String),
    /// The name has other characters.
    #[error(
        "the name of a label has at most {NAME_MAX_BYTES} of a-z, 0-9, `_` and `-`, and begins \
         with a letter, unlike {0:?}"
    )]
    Name(String),
    /// The value has other characters.
    #[error(
        "the value of a label has at most {VALUE_MAX_BYTES} of A-Z, a-z, 0-9, `.`, `_`, `+` and \
         `-`, unlike {0:?}"
    )]
    Value(String),
    /// Too many, or too long in all.
    #[error("a host has at most {LABELS_MAX} labels, and {LABELS_MAX_BYTES} bytes of them")]
    TooMany,
}

fn cut(text: &str) -> String {
    text.chars().take(80).collect()
}

/// Checks the name of a label.
pub fn check_name(name: &str) -> Result<(), BadLabel> {
    let is_letter = name.starts_with(|first: char| first.is_ascii_lowercase());
    let known = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-');
    if is_letter && name.len() <= NAME_MAX_BYTES && name.bytes().all(known) {
        Ok(())
    } else {
        Err(BadLabel::Name(cut(name)))
    }
}

/// Checks the value of a label.
pub fn check_value(value: &str) -> Result<(), BadLabel> {
    let is_long = value.is_empty() || value.len() > VALUE_MAX_BYTES;
    if !is_long && value.bytes().all(is_value_byte) {
        Ok(())
    } else {
        Err(BadLabel::Value(cut(value)))
    }
}

const fn is_value_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'+' | b'-')
}

/// Checks all of a host.
pub fn check(labels: &Labels) -> Result<(), BadLabel> {
    for (name, value) in labels {
        check_name(name)?;
        check_value(value)?;
    }
    let bytes: usize = labels.iter().map(|(n, v)| n.len() + v.len()).sum();
    if labels.len() <= LABELS_MAX && bytes <= LABELS_MAX_BYTES {
        Ok(())
    } else {
        Err(BadLabel::TooMany)
    }
}

/// Reads `name=value`.
pub fn parse(text: &str) -> Result<(String, String), BadLabel> {
    let pair = text.split_once('=');
    let (name, value) = pair.ok_or_else(|| BadLabel::NoPair(cut(text)))?;
    check_name(name)?;
    check_value(value)?;
    Ok((name.to_owned(), value.to_owned()))
}

/// A value made of any text: what a label may not have becomes `-`. `None`: nothing is left.
pub fn tame(text: &str) -> Option<String> {
    let tamed: String = text
        .trim()
        .bytes()
        .take(VALUE_MAX_BYTES)
        .map(|byte| {
            if is_value_byte(byte) {
                char::from(byte)
            } else {
                '-'
            }
        })
        .collect();
    tamed
        .bytes()
        .any(|b| b.is_ascii_alphanumeric())
        .then_some(tamed)
}

/// Checks the name of a host: a label's value that is also one part of a subject of NATS.
pub fn check_identity(identity: &str) -> Result<(), String> {
    let known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let is_long = identity.is_empty() || identity.len() > VALUE_MAX_BYTES;
    if !is_long && identity.bytes().all(known) {
        Ok(())
    } else {
        Err(format!(
            "the identity of a host has 1 to {VALUE_MAX_BYTES} of A-Z, a-z, 0-9, `_` and `-`, \
             unlike {:?}; give one with --identity",
            cut(identity)
        ))
    }
}
