//! Which hosts: `all`, or terms that all hold, such as `site=berlin|hamburg,kernel>=6.12`.

use std::{cmp::Ordering, fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::labels::{BadLabel, Labels, check_name, check_value};

/// The longest text.
pub const SELECTOR_MAX_BYTES: usize = 512;
const TERMS_MAX: usize = 16;
const VALUES_MAX: usize = 32;
const ALL: &str = "all";

/// Hosts by their labels. Equal selectors have equal texts: terms are in order.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Selector {
    terms: Vec<Term>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Term {
    label: String,
    test: Test,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Test {
    Any(Vec<String>),
    None(Vec<String>),
    /// Of versions: numbers field by field.
    Version(Compare, String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Compare {
    AtLeast,
    AtMost,
    Above,
    Below,
}

/// Longer operators come first, or `>` would be found in `>=`.
const COMPARES: [(&str, Compare); 4] = [
    (">=", Compare::AtLeast),
    ("<=", Compare::AtMost),
    (">", Compare::Above),
    ("<", Compare::Below),
];

/// Why a text is no selector.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadSelector {
    /// Too long.
    #[error(
        "a selector has at most {SELECTOR_MAX_BYTES} bytes, {TERMS_MAX} terms and {VALUES_MAX} \
         values in each"
    )]
    TooLong,
    /// No operator.
    #[error(
        "{0:?} is not a term: write LABEL=VALUE, LABEL=ONE|OTHER, LABEL!=VALUE or LABEL>=VERSION, \
         with commas between terms, or `{ALL}` for all hosts"
    )]
    NoTerm(String),
    /// A name or value that no label has.
    #[error(transparent)]
    Label(#[from] BadLabel),
}

impl Selector {
    /// Every host.
    pub const ALL: Self = Self { terms: Vec::new() };

    /// Whether a host with these labels is meant.
    pub fn matches(&self, labels: &Labels) -> bool {
        self.terms
            .iter()
            .all(|term| term.test.holds(labels.get(&term.label).map(String::as_str)))
    }

    /// The number of terms: of the assignments of a host, the one with most counts.
    pub fn terms(&self) -> usize {
        self.terms.len()
    }
}

impl Test {
    fn holds(&self, value: Option<&str>) -> bool {
        let is_among = |values: &[String]| value.is_some_and(|v| values.iter().any(|w| w == v));
        match self {
            Self::Any(values) => is_among(values),
            Self::None(values) => !is_among(values),
            Self::Version(compare, than) => value.is_some_and(|value| {
                let order = versions(value, than);
                match compare {
                    Compare::AtLeast => order != Ordering::Less,
                    Compare::AtMost => order != Ordering::Greater,
                    Compare::Above => order == Ordering::Greater,
                    Compare::Below => order == Ordering::Less,
                }
            }),
        }
    }
}

/// Compares as many fields of numbers as the second version has: 6.12.3 is neither above nor below
/// 6.12.
fn versions(value: &str, than: &str) -> Ordering {
    let fields = |text: &str| -> Vec<u64> {
        text.split(['.', '-', '_', '+'])
            .map_while(|field| field.parse().ok())
            .collect()
    };
    let than = fields(than);
    let mut value = fields(value);
    value.resize(than.len(), 0);
    value.cmp(&than)
}

impl FromStr for Selector {
    type Err = BadSelector;

    fn from_str(text: &str) -> Result<Self, BadSelector> {
        if text.len() > SELECTOR_MAX_BYTES {
            return Err(BadSelector::TooLong);
        }
        if text.trim() == ALL {
            return Ok(Self::ALL);
        }
        let terms = text.split(',').map(|term| term_of(term.trim()));
        let mut terms = terms.collect::<Result<Vec<_>, _>>()?;
        terms.sort();
        terms.dedup();
        if terms.len() <= TERMS_MAX {
            Ok(Self { terms })
        } else {
            Err(BadSelector::TooLong)
        }
    }
}

fn term_of(text: &str) -> Result<Term, BadSelector> {
    let made = |label: &str, test: Test| {
        check_name(label)?;
        let label = label.to_owned();
        Ok(Term { label, test })
    };
    for (operator, compare) in COMPARES {
        if let Some((label, value)) = text.split_once(operator) {
            check_value(value)?;
            if !value.starts_with(|first: char| first.is_ascii_digit()) {
                return Err(BadSelector::NoTerm(text.to_owned()));
            }
            return made(label, Test::Version(compare, value.to_owned()));
        }
    }
    if let Some((label, values)) = text.split_once("!=") {
        return made(label, Test::None(values_of(values)?));
    }
    match text.split_once('=') {
        Some((label, values)) => made(label, Test::Any(values_of(values)?)),
        None => Err(BadSelector::NoTerm(text.chars().take(80).collect())),
    }
}

fn values_of(text: &str) -> Result<Vec<String>, BadSelector> {
    let mut values: Vec<String> = text.split('|').map(str::to_owned).collect();
    values.iter().try_for_each(|value| check_value(value))?;
    values.sort();
    values.dedup();
    if values.len() <= VALUES_MAX {
        Ok(values)
    } else {
        Err(BadSelector::TooLong)
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.terms.is_empty() {
            return f.write_str(ALL);
        }
        for (at, Term { label, test }) in self.terms.iter().enumerate() {
            if at > 0 {
                f.write_str(",")?;
            }
            match test {
                Test::Any(values) => write!(f, "{label}={}", values.join("|"))?,
                Test::None(values) => write!(f, "{label}!={}", values.join("|"))?,
                Test::Version(compare, than) => {
                    let name = COMPARES.iter().find(|(_, known)| known == compare);
                    let name = name.map_or("", |(name, _)| name);
                    write!(f, "{label}{name}{than}")?;
                }
            }
        }
        Ok(())
    }
}

impl TryFrom<String> for Selector {
    type Error = BadSelector;

    fn try_from(text: String) -> Result<Self, BadSelector> {
        text.parse()
    }
}

impl From<Selector> for String {
    fn from(selector: Selector) -> Self {
        selector.to_string()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn labels(text: &str) -> Labels {
        let pairs = text.split_whitespace();
        pairs
            .map(|pair| crate::labels::parse(pair).unwrap())
            .collect()
    }

    #[test]
    fn hosts_are_selected() {
        let host = labels("site=berlin role=media kernel=6.12.9-amd64");
        for (text, matches) in [
            ("all", true),
            ("site=berlin", true),
            ("site=berlin|hamburg", true),
            ("site=hamburg", false),
            ("site!=hamburg", true),
            ("site!=hamburg|berlin", false),
            ("rack=1", false),
            ("rack!=1", true),
            ("kernel>=6.12", true),
            ("kernel>6.12", false),
            ("kernel<=6.12", true),
            ("kernel<6.9", false),
            ("kernel<7", true),
            ("rack>=1", false),
            ("site=berlin,role=media", true),
            ("site=berlin,role=edge", false),
        ] {
            let selector: Selector = text.parse().unwrap();
            assert_eq!(selector.matches(&host), matches, "{text}");
        }
    }

    #[test]
    fn order_makes_no_difference() {
        let one: Selector = "b=2|1, a=1".parse().unwrap();
        assert_eq!(one, "a=1,b=1|2,a=1".parse().unwrap());
        assert_eq!(one.to_string(), "a=1,b=1|2");
    }

    #[test]
    fn mistakes_are_named() {
        for text in [
            "", "site", "=x", "site=", "Site=x", "a=b=c", "a>=x", "a=1,,b=2",
        ] {
            assert!(text.parse::<Selector>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_printed_is_read(text in "[a-c]{1,2}(!=|=|>=|<)[0-9][a-c.|]{0,3}(,[a-c]=[a-c|])?") {
            if let Ok(selector) = text.parse::<Selector>() {
                prop_assert_eq!(selector.to_string().parse::<Selector>(), Ok(selector));
            }
        }
    }
}
