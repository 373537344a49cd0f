//! The keys of the policy, each defined once: readers know their keys by these definitions, and the
//! JSON schema is made of them.

use std::ops::RangeInclusive;

use serde_json::Value;

use super::place::Place;

/// A kind of table, and the keys that it may have.
pub(crate) struct Schema {
    /// The name of the table in messages.
    pub what: &'static str,
    /// `None`: in a traffic file.
    pub place: Option<Place>,
    /// A sentence about the table.
    pub doc: &'static str,
    pub keys: &'static [Key],
}

impl Schema {
    pub fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.keys.iter().map(|key| key.name)
    }

    pub fn has(&self, name: &str) -> bool {
        self.names().any(|known| known == name)
    }

    /// For messages.
    pub fn list(&self) -> String {
        self.names().collect::<Vec<_>>().join(", ")
    }
}

/// A key of a table.
pub(crate) struct Key {
    pub name: &'static str,
    pub takes: Takes,
    /// One line about the key, without its range and default.
    pub doc: &'static str,
    pub without: Without,
}

/// What the absence of a key means.
pub(crate) enum Without {
    Error,
    /// As if this value were written, in a spelling that JSON and TOML have in common.
    Default(&'static str),
    /// There is no value, or one that depends on other keys.
    Other,
}

/// What a key takes.
pub(crate) enum Takes {
    Boolean,
    Integer(RangeInclusive<u64>),
    /// Text, in nanoseconds.
    Duration(RangeInclusive<u64>),
    /// The same, or a fraction.
    Exact(RangeInclusive<u64>),
    /// A number whose range is in parts of one: `Number(1..=3, 1000)` is 0.001 to 0.003.
    Number(RangeInclusive<i64>, i64),
    Word(&'static [&'static str]),
    /// A spelling, by the JSON schema of the value.
    Spelled(fn() -> Value),
    Table(&'static Schema),
    /// An array of tables.
    Tables(&'static Schema),
    /// A table, or an array of them that is not empty.
    OneOrMore(&'static Schema),
    /// A table of tables whose keys are devices.
    PerDevice(&'static Schema),
}

impl Key {
    pub const fn new(name: &'static str, takes: Takes, doc: &'static str) -> Key {
        Key {
            name,
            takes,
            doc,
            without: Without::Other,
        }
    }

    pub const fn required(name: &'static str, takes: Takes, doc: &'static str) -> Key {
        Key {
            name,
            takes,
            doc,
            without: Without::Error,
        }
    }

    pub const fn with_default(
        name: &'static str,
        takes: Takes,
        default: &'static str,
        doc: &'static str,
    ) -> Key {
        Key {
            name,
            takes,
            doc,
            without: Without::Default(default),
        }
    }
}

/// The words that a key takes, each with its meaning.
pub(crate) type Words<T, const N: usize> = [(&'static str, T); N];

/// The words alone.
pub(crate) const fn words<T: Copy, const N: usize>(choices: &Words<T, N>) -> [&'static str; N] {
    let mut words = [""; N];
    let mut at = 0;
    while at < N {
        words[at] = choices[at].0;
        at += 1;
    }
    words
}
