//! The owner of a socket or a thread: program, user, control group, systemd unit.

use serde_json::{Value, json};

use super::{Fault, unsigned};
use crate::source::FloorBoundary;
use crate::{Code, User};

/// The kernel's TASK_COMM_LEN without the terminating zero.
pub(crate) const COMM_MAX_BYTES: usize = 15;
const USER_MAX_BYTES: usize = 255;
const CGROUP_MAX_BYTES: usize = 4095;
/// Of one group in it: the kernel's NAME_MAX.
const CGROUP_NAME_MAX_BYTES: usize = 255;
/// CGROUP_LEVELS in bpf/include/cgroup_names.h.
const CGROUP_LEVELS: usize = 32;
const UNIT_MAX_BYTES: usize = 255;

/// The highest number; the one above it means no user.
const USER_ID_MAX: u64 = u32::MAX as u64 - 1;

const CGROUP_ROOT: &str = "/sys/fs/cgroup/";

/// Kinds of units that have processes.
const UNIT_SUFFIXES: &[&str] = &[".service", ".scope", ".slice", ".socket", ".mount", ".swap"];

const UNIT_SUFFIXES_IDLE: &[&str] = &[".timer", ".target", ".path", ".device", ".automount"];

pub(crate) fn comm_schema() -> Value {
    json!({"type": "string", "pattern": "^[^/]", "maxLength": COMM_MAX_BYTES})
}

pub(crate) fn user_schema() -> Value {
    super::text_or_integer(r"^[^-+/:\s][^/:\s]*$", USER_ID_MAX)
}

pub(crate) fn cgroup_schema() -> Value {
    json!({"type": "string", "pattern": "[^/]", "maxLength": CGROUP_MAX_BYTES + 2})
}

pub(crate) fn unit_schema() -> Value {
    let endings: Vec<String> = UNIT_SUFFIXES
        .iter()
        .map(|end| end.replace('.', r"\."))
        .collect();
    let pattern = format!(r"^[A-Za-z0-9:_.\\@-]+({})$", endings.join("|"));
    json!({"type": "string", "pattern": pattern, "maxLength": UNIT_MAX_BYTES})
}

/// The name of a thread or of a process, the value of `key` in a match.
pub(crate) fn parse_comm(key: &str, text: &str) -> Result<String, Fault> {
    match mend_comm(text) {
        None => Ok(text.to_owned()),
        Some((problem, help, None)) => Err(refused(key, text, problem, help.to_owned())),
        Some((problem, help, Some(name))) => {
            let help = format!("{help}: {key} = \"{name}\"");
            Err(refused(key, text, problem, help))
        }
    }
}

/// The name of a member of a group, which is its thread's name.
pub(crate) fn parse_member(text: &str) -> Result<String, Fault> {
    let Some((problem, help, name)) = mend_comm(text) else {
        return Ok(text.to_owned());
    };
    let help = match name {
        Some(name) => format!("{help}: \"{name}\""),
        None => help.to_owned(),
    };
    let problem = if text.is_empty() {
        "the name of a member is empty".to_owned()
    } else {
        format!("`{text}` cannot be the name of a member: {problem}")
    };
    Err(Fault::new(Code::BadOwner, problem, help))
}

/// The error of a thread's or a process's name, its fix, and the name that was probably meant.
fn mend_comm(text: &str) -> Option<(&'static str, &'static str, Option<&str>)> {
    const HELP: &str = "name it as `ps -o comm` does";
    if text.is_empty() {
        return Some(("it is empty", HELP, None));
    }
    if let Some((_, base)) = text.rsplit_once('/').filter(|_| text.starts_with('/')) {
        let name = cut_comm(base);
        let is_name = mend_comm(name).is_none();
        return Some((
            "it is a path",
            "a program goes by its name",
            is_name.then_some(name),
        ));
    }
    if text.contains(char::is_control) {
        return Some(("it has a control character in it", HELP, None));
    }
    (text.len() > COMM_MAX_BYTES).then(|| {
        (
            "it is longer than 15 bytes",
            "the kernel keeps the first 15 bytes of a name",
            Some(cut_comm(text)),
        )
    })
}

/// As the kernel cuts it.
fn cut_comm(text: &str) -> &str {
    if text.len() > COMM_MAX_BYTES {
        &text[..text.floor_boundary(COMM_MAX_BYTES)]
    } else {
        text
    }
}

/// A number, or a name that is resolved when the policy is applied.
pub(crate) fn parse_user(text: &str) -> Result<User, Fault> {
    if let Some(id) = unsigned(text) {
        return match id {
            0..=USER_ID_MAX => Ok(User::Id(id as u32)),
            _ => Err(Fault::new(
                Code::OutOfRange,
                format!("there is no user {id}"),
                format!("user numbers go from 0 to {USER_ID_MAX}"),
            )),
        };
    }
    let problem = if text.is_empty() {
        "it is empty"
    } else if text.len() > USER_MAX_BYTES {
        "it is longer than 255 bytes"
    } else if text.starts_with(['-', '+']) {
        "it starts with a sign"
    } else if text.chars().all(|c| c.is_ascii_digit()) {
        "the number is too large"
    } else if text.contains(['/', ':']) {
        "it has a slash or a colon in it"
    } else if text.contains(|c: char| c.is_whitespace() || c.is_control()) {
        "it has a blank in it"
    } else {
        return Ok(User::Name(text.to_owned()));
    };
    let help = "write a name as `getent passwd` shows it, or the number: user = 1000";
    Err(refused("user", text, problem, help.to_owned()))
}

/// Without a slash at either end.
pub(crate) fn parse_cgroup(text: &str) -> Result<String, Fault> {
    let fault = |problem: &str, help: String| Err(refused("cgroup", text, problem, help));
    let example = "write its path from the root of cgroup2: cgroup = \"system.slice/ssh.service\"";
    if let Some(path) = text.strip_prefix(CGROUP_ROOT) {
        let help = match parse_cgroup(path.trim_start_matches(CGROUP_ROOT)) {
            Ok(path) => format!("leave out where it is mounted: cgroup = \"{path}\""),
            Err(_) => "leave out where it is mounted".to_owned(),
        };
        return fault("paths start at the root of cgroup2", help);
    }
    let path = text.strip_prefix('/').unwrap_or(text);
    let path = path.strip_suffix('/').unwrap_or(path);
    if path.is_empty() {
        return fault(
            "the root holds every process",
            format!("leave cgroup out, or {example}"),
        );
    }
    if path.len() > CGROUP_MAX_BYTES {
        return fault("it is longer than 4095 bytes", example.to_owned());
    }
    if path.contains(char::is_control) {
        return fault("it has a control character in it", example.to_owned());
    }
    if path
        .split('/')
        .any(|part| part.len() > CGROUP_NAME_MAX_BYTES)
    {
        let help = "no control group has a longer name; `systemd-cgls` shows those there are";
        return fault("a name in it is longer than 255 bytes", help.to_owned());
    }
    if path.split('/').count() > CGROUP_LEVELS {
        let help = format!("groups are told apart down to {CGROUP_LEVELS} levels; name one above");
        return fault("it is deeper than 32 groups", help);
    }
    match path.split('/').find(|part| ["", ".", ".."].contains(part)) {
        None => Ok(path.to_owned()),
        Some("") => fault("it has two slashes in a row", example.to_owned()),
        Some(part) => fault(
            &format!("it has `{part}` in it"),
            "write the path in full, as `systemd-cgls` shows it".to_owned(),
        ),
    }
}

pub(crate) fn parse_unit(text: &str) -> Result<String, Fault> {
    let fault = |problem: &str, help: String| Err(refused("unit", text, problem, help));
    let example = "write it as `systemctl` shows it: unit = \"nginx.service\"";
    let is_plain = |c: char| c.is_ascii_alphanumeric() || ":-_.\\@".contains(c);
    if text.is_empty() {
        return fault("it is empty", example.to_owned());
    }
    if let Some(c) = text.chars().find(|c| !is_plain(*c)) {
        return fault(&format!("it has `{c}` in it"), example.to_owned());
    }
    if text.len() > UNIT_MAX_BYTES {
        return fault("it is longer than 255 bytes", example.to_owned());
    }
    let stem_of = |suffixes: &[&str]| suffixes.iter().find_map(|end| text.strip_suffix(end));
    if let Some(stem) = stem_of(UNIT_SUFFIXES_IDLE) {
        let such = if stem.is_empty() {
            String::new()
        } else {
            format!(": unit = \"{stem}.service\"")
        };
        return fault(
            "units of this kind have no processes",
            format!("name the unit that has them{such}"),
        );
    }
    match stem_of(UNIT_SUFFIXES) {
        Some("") => fault("it is an ending without a name", example.to_owned()),
        Some(_) => Ok(text.to_owned()),
        None => fault(
            "it lacks its ending",
            format!(
                "add \".service\": unit = \"{text}.service\"; other endings are {}",
                UNIT_SUFFIXES[1..].join(" ")
            ),
        ),
    }
}

fn refused(key: &str, text: &str, problem: &str, help: String) -> Fault {
    let message = if text.is_empty() {
        format!("the {key} of a match is empty")
    } else {
        format!("`{text}` cannot be the {key} of a match: {problem}")
    };
    Fault::new(Code::BadOwner, message, help)
}
