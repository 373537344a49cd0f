//! Paths of files.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::Fault;
use crate::Code;

/// The kernel's PATH_MAX without the terminating zero, and its NAME_MAX.
const PATH_MAX_BYTES: usize = 4095;
const NAME_MAX_BYTES: usize = 255;

pub(crate) fn schema() -> Value {
    json!({"type": "string", "minLength": 1, "maxLength": PATH_MAX_BYTES})
}

pub(crate) fn parse(key: &str, text: &str) -> Result<PathBuf, Fault> {
    if text.is_empty() || text.contains('\0') {
        let help = "name a file; a relative path starts at the file that names it";
        return Err(Fault::new(
            Code::BadValue,
            format!("`{key}` names no file"),
            help,
        ));
    }
    let is_long = |name: &str| name.len() > NAME_MAX_BYTES;
    if text.len() > PATH_MAX_BYTES || text.split('/').any(is_long) {
        return Err(Fault::new(
            Code::BadValue,
            format!("`{key}` is longer than the path of a file can be"),
            "a path has up to 4095 bytes, and a name in it up to 255",
        ));
    }
    Ok(PathBuf::from(text))
}
