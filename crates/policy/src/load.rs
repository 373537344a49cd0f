//! Reads the text of a policy: the only access to the host.

mod folder;

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::source::Source;
use crate::{Code, POLICY_MAX_BYTES, Policy, parse, too_large};

/// Too many open files, of the host and of the process; as in errno(3).
const ENFILE: i32 = 23;
const EMFILE: i32 = 24;

/// The name of what is read from standard input.
const STDIN: &str = "-";

/// A policy, with what is kept of it.
#[derive(Debug)]
pub struct Loaded {
    /// What messages call it: its file, or the directory of its files.
    pub name: String,
    /// All of it; that of several files together.
    pub text: String,
    /// Where its relative paths start, from the root on: the directory that was named, or that the
    /// file is in, or the current one for standard input.
    pub folder: PathBuf,
    /// What it says.
    pub policy: Policy,
}

/// Reads and parses a policy: of a file, of a directory's files ([`folder`]), or of standard input,
/// which is `-`. All failures have the same type, so that a caller has one kind of error to show.
pub fn load(path: &Path) -> Result<Loaded, Diagnostics> {
    // Without a current directory the path stays as it is.
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let (name, text, folder) = if path.is_dir() {
        let (name, text) = folder::read_all(path)?;
        (name, text, absolute)
    } else {
        let folder = absolute.parent().unwrap_or(&absolute).to_owned();
        (path.display().to_string(), read_text(path)?, folder)
    };
    let policy = parse_in(&folder, &name, &text)?;
    Ok(Loaded {
        name,
        text,
        folder,
        policy,
    })
}

/// The text of a file.
pub(crate) fn read_text(path: &Path) -> Result<String, Diagnostics> {
    let name = path.display().to_string();
    let bytes =
        read_bounded(path).map_err(|error| Diagnostics::of_file(&name, explain(&name, &error)))?;
    if bytes.len() > POLICY_MAX_BYTES {
        return Err(Diagnostics::of_file(&name, too_large(&name)));
    }
    String::from_utf8(bytes)
        .map_err(|error| not_utf8(&name, error.as_bytes(), error.utf8_error().valid_up_to()))
}

/// Parses a policy whose relative paths start in a directory.
pub fn parse_in(folder: &Path, name: &str, text: &str) -> Result<Policy, Diagnostics> {
    let mut policy = parse(name, text)?;
    policy.stands_in(folder);
    Ok(policy)
}

/// Reads at most one byte more than a policy may have, whatever the file's size: a pipe has none.
fn read_bounded(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file: Box<dyn Read> = if path == Path::new(STDIN) {
        Box::new(std::io::stdin())
    } else {
        Box::new(File::open(path)?)
    };
    file.take(POLICY_MAX_BYTES as u64 + 1)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn explain(name: &str, error: &std::io::Error) -> Diagnostic {
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => Diagnostic::error(
            Code::NotFound,
            format!("there is no file {name}"),
            "check the path; a relative one starts at the current directory",
        ),
        _ => Diagnostic::error(
            Code::Unreadable,
            format!("{name} cannot be read: {error}"),
            match error.raw_os_error() {
                Some(EMFILE) => "let the process have more open files (ulimit -n)",
                Some(ENFILE) => "let the host have more open files (sysctl fs.file-max)",
                _ => "make the file readable for this user",
            },
        ),
    }
}

fn not_utf8(name: &str, bytes: &[u8], valid_bytes: usize) -> Diagnostics {
    // Each wrong byte becomes one character of three bytes; up to the first one, offsets stay.
    let text = String::from_utf8_lossy(bytes);
    let error = Diagnostic::error(
        Code::NotUtf8,
        format!(
            "{name} is not UTF-8 text: byte {valid_bytes} is {:#04x}",
            bytes[valid_bytes]
        ),
        "save the file as UTF-8; `iconv -f LATIN1 -t UTF-8` converts most old files",
    );
    let sign = char::REPLACEMENT_CHARACTER.len_utf8();
    let error = error.at(&(valid_bytes..valid_bytes + sign), "not UTF-8");
    Diagnostics::new(Source::new(name, &text), vec![error], 0)
}
