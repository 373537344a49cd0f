//! Priorities.

use serde_json::Value;

use super::Fault;
use crate::{Code, PRIORITY_BACKGROUND};

pub(crate) fn schema() -> Value {
    super::text_or_integer("^(background|[0-6])$", 6)
}

const HELP: &str = "priority goes from 0 (most important) to 6, or is \"background\"";

pub(crate) fn parse(text: &str) -> Result<u8, Fault> {
    match text {
        "background" => Ok(PRIORITY_BACKGROUND),
        "7" => Err(Fault::new(
            Code::OutOfRange,
            "priority 7 goes by its name",
            "write priority = \"background\"",
        )),
        _ => match text.parse::<i64>() {
            Ok(number @ 0..=6) if text.len() == 1 => Ok(number as u8),
            Ok(number @ (i64::MIN..0 | 7..)) => Err(Fault::new(
                Code::OutOfRange,
                format!("the priority {number} is out of range"),
                HELP,
            )),
            _ => Err(Fault::new(
                Code::BadValue,
                format!("`{text}` is not a priority"),
                of_word(text),
            )),
        },
    }
}

/// Words that other tools have for priorities.
fn of_word(text: &str) -> String {
    const FIRST: [&str; 6] = ["high", "highest", "realtime", "urgent", "critical", "voice"];
    const USUAL: [&str; 4] = ["normal", "medium", "default", "standard"];
    const LAST: [&str; 7] = [
        "background",
        "low",
        "lowest",
        "bulk",
        "idle",
        "scavenger",
        "lower",
    ];
    let word = super::folded(text);
    let is_in = |words: &[&str]| words.contains(&word.as_str());
    if is_in(&FIRST) {
        format!("write priority = 0 for what goes first; {HELP}")
    } else if is_in(&USUAL) {
        format!("leave it out, or write priority = 3, the default with a rate; {HELP}")
    } else if is_in(&LAST) {
        format!("write priority = 6, or \"background\" for what may always wait; {HELP}")
    } else {
        HELP.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_other_tools_get_a_number() {
        for (word, told) in [
            ("high", "write priority = 0 for what goes first"),
            ("Realtime", "write priority = 0 for what goes first"),
            (
                "normal",
                "leave it out, or write priority = 3, the default with a rate",
            ),
            (
                "low",
                "write priority = 6, or \"background\" for what may always wait",
            ),
            (
                "BACKGROUND",
                "write priority = 6, or \"background\" for what may always wait",
            ),
            ("often", HELP),
        ] {
            let fault = parse(word).expect_err("a word");
            assert!(fault.help.starts_with(told), "{word}: {}", fault.help);
        }
    }
}
