//! What taktd is told of a policy with `[radio]`: a note for each network namespace, beside
//! the records of links. It is there from the moment the policy is in force, links or not.

use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use crate::{
    capability,
    error::Error,
    netlink::Netlink,
    record::{DIR, Source, replace_file},
};

/// The policy with `[radio]` that this network namespace follows, if it follows one.
pub fn applied_radio() -> Result<Option<Source>, Error> {
    capability::require()?;
    read(netns_cookie()?)
}

pub(crate) fn netns_cookie() -> Result<u64, Error> {
    Netlink::open()
        .and_then(|netlink| netlink.netns_cookie())
        .map_err(Error::netlink("identifying the namespace"))
}

pub(crate) fn read(netns_cookie: u64) -> Result<Option<Source>, Error> {
    let path = path(netns_cookie);
    let text = match fs::read_to_string(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        text => text.map_err(Error::file(&path))?,
    };
    let source = serde_json::from_str(&text);
    source.map(Some).map_err(|reason| bad(&path, &reason))
}

/// The policy in force has `[radio]`, or none does (any more). Whether anything
/// changed.
pub(crate) fn note(netns_cookie: u64, source: Option<&Source>) -> Result<bool, Error> {
    if read(netns_cookie)?.as_ref() == source {
        return Ok(false);
    }
    let path = path(netns_cookie);
    match source {
        Some(source) => {
            let text =
                serde_json::to_string_pretty(source).map_err(|reason| bad(&path, &reason))?;
            fs::create_dir_all(dir()).map_err(Error::file(dir()))?;
            replace_file(&path, &text)?;
        }
        None => fs::remove_file(&path).map_err(Error::file(&path))?,
    }
    Ok(true)
}

/// Whether any namespace has such a policy.
pub(crate) fn is_anywhere() -> bool {
    fs::read_dir(dir()).is_ok_and(|mut notes| notes.next().is_some())
}

fn dir() -> PathBuf {
    Path::new(DIR).join("radio")
}

fn path(netns_cookie: u64) -> PathBuf {
    dir().join(format!("{netns_cookie}.json"))
}

fn bad(path: &Path, reason: &serde_json::Error) -> Error {
    Error::BadRecord {
        path: path.to_owned(),
        reason: reason.to_string(),
    }
}
