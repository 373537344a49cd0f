//! The users that may take a reservation at run time.

use serde_json::{Value, json};

use super::Fault;
use crate::{Code, Join};

const GROUP_MAX_BYTES: usize = 255;

pub(crate) fn schema() -> Value {
    json!({"type": "string", "pattern": r"^[^-+/:,\s][^/:,\s]*$", "maxLength": GROUP_MAX_BYTES})
}

/// `"none"`, `"all"`, or the name of a group, which is looked up when a thread asks.
pub(crate) fn parse(text: &str) -> Result<Join, Fault> {
    match text {
        "none" => return Ok(Join::None),
        "all" => return Ok(Join::All),
        _ => {}
    }
    let problem = if text.is_empty() {
        "it is empty"
    } else if text.len() > GROUP_MAX_BYTES {
        "it is longer than 255 bytes"
    } else if text.starts_with(['-', '+']) {
        "it starts with a sign"
    } else if text.chars().all(|c| c.is_ascii_digit()) {
        "it is a number"
    } else if text.contains(['/', ':', ',']) {
        "it has a slash, a colon or a comma in it"
    } else if text.contains(|c: char| c.is_whitespace() || c.is_control()) {
        "it has a blank or a control character in it"
    } else {
        return Ok(Join::Group(text.to_owned()));
    };
    Err(Fault::new(
        Code::BadJoin,
        format!(
            "`{}` cannot be the name of a group: {problem}",
            text.escape_debug()
        ),
        "write \"none\", \"all\", or a group's name as `getent group` shows it: join = \"audio\"",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_groups() {
        assert_eq!(parse("none"), Ok(Join::None));
        assert_eq!(parse("all"), Ok(Join::All));
        for name in [
            "audio",
            "All",
            "_takt",
            "rt-users",
            "samba$",
            "EXAMPLE\\audio",
        ] {
            assert_eq!(parse(name), Ok(Join::Group(name.to_owned())));
        }
    }

    #[test]
    fn no_group_is_called_so() {
        let long = "g".repeat(GROUP_MAX_BYTES + 1);
        for name in [
            "", "1001", "-audio", "+audio", "a b", "a:b", "a,b", "a/b", "a\0b", "a\n", &long,
        ] {
            assert_eq!(parse(name).map_err(|fault| fault.code), Err(Code::BadJoin));
        }
    }
}
