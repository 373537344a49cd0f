//! Names of classes and tenants.

use serde_json::{Value, json};

use super::Fault;
use crate::Code;

const MAX_BYTES: usize = 31;

pub(crate) fn schema() -> Value {
    json!({"type": "string", "pattern": "^[A-Za-z0-9_.-]+$", "maxLength": MAX_BYTES})
}

/// Whether a name is valid for a class, a tenant or a task; otherwise the error and its fix.
pub fn check_name(what: &str, name: &str) -> Result<(), String> {
    parse(what, name)
        .map(drop)
        .map_err(|fault| format!("{}; {}", fault.message, fault.help))
}

/// `what` is a class or a tenant.
pub(crate) fn parse(what: &str, name: &str) -> Result<String, Fault> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    let problem = if name.is_empty() {
        format!("a {what} name is empty")
    } else if name.len() > MAX_BYTES {
        format!("the {what} name `{name}` is {} bytes long", name.len())
    } else if let Some(c) = name.chars().find(|c| !is_plain(*c)) {
        format!("the {what} name `{name}` has `{c}` in it")
    } else {
        return Ok(name.to_owned());
    };
    let help = "names are 1 to 31 bytes out of A-Z a-z 0-9 _ . -";
    Err(Fault::new(Code::BadName, problem, help))
}
