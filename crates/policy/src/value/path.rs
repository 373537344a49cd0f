//! Paths of files.

use std::path::PathBuf;

use super::Fault;
use crate::Code;

pub(crate) fn parse(key: &str, text: &str) -> Result<PathBuf, Fault> {
    if text.is_empty() || text.contains('\0') {
        let help = "name a file; a relative path starts at the policy file";
        return Err(Fault::new(
            Code::BadValue,
            format!("`{key}` names no file"),
            help,
        ));
    }
    Ok(PathBuf::from(text))
}
