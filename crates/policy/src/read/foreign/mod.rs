//! Keys of other tools, such as tc, nft and docker: what says the same in a policy, or that nothing
//! does.

#[cfg(test)]
mod tests;
mod words;

use super::place::Place;
use words::WORDS;

/// Words of one meaning.
struct Word {
    /// Its spellings; case, `_` and `-` make no difference.
    names: &'static [&'static str],
    /// No two for one table.
    hints: &'static [Hint],
}

/// What to do instead of a word.
struct Hint {
    /// The tables in which this is told.
    told_in: &'static [Place],
    /// How Takt differs; may be empty.
    fact: &'static str,
    /// What to write: one of these.
    lines: &'static [Line],
}

/// A line of a policy.
struct Line {
    /// The tables that may have it: the one that the word is in, or else the first.
    places: &'static [Place],
    text: &'static str,
    /// What it is for, to choose among several; may be empty.
    purpose: &'static str,
}

impl Hint {
    fn tell(&self, from: Place) -> String {
        let lines: Vec<String> = self.lines.iter().map(|line| line.tell(from)).collect();
        let lines = lines.join(", or ");
        match (self.fact, self.lines) {
            (fact, []) => fact.to_owned(),
            ("", _) => format!("write it like this: {lines}"),
            (fact, _) => format!("{fact}; write {lines}"),
        }
    }
}

impl Line {
    /// Where it goes, for a word that is in the table `from`.
    fn place(&self, from: Place) -> Place {
        if self.places.contains(&from) {
            from
        } else {
            self.places[0]
        }
    }

    fn tell(&self, from: Place) -> String {
        let line = self.place(from).line(self.text, from);
        match self.purpose {
            "" => line,
            purpose => format!("{line} {purpose}"),
        }
    }
}

/// What to do instead of the key in this table.
pub(super) fn hint(key: &str, place: Place) -> Option<String> {
    let mut hints = word(key)?.hints.iter();
    let hint = hints.find(|hint| hint.told_in.contains(&place))?;
    Some(hint.tell(place))
}

/// Whether the key means something else than a key of Takt that is spelled much like it.
pub(super) fn is_foreign(key: &str) -> bool {
    word(key).is_some()
}

fn word(key: &str) -> Option<&'static Word> {
    let key = bare(key);
    let is_name = |name: &&str| bare(name).eq(key.clone());
    WORDS.iter().find(|word| word.names.iter().any(&is_name))
}

/// The letters that tell words apart.
fn bare(word: &str) -> impl Iterator<Item = char> + Clone + '_ {
    let letters = word.chars().filter(|c| !['_', '-', ' '].contains(c));
    letters.map(|c| c.to_ascii_lowercase())
}
