//! Python's own web server, for downloads from a program without support for Takt.
//!
//! Python itself is asked for the files: the modules that a server has loaded. They keep their
//! paths, where the interpreter looks.

use std::path::{Path, PathBuf};

use super::Result;
use super::tool::Tool;

pub const PYTHON: Tool = Tool {
    program: "python3",
    package: "python3",
};

/// The imports of `python3 -m http.server` before and while it serves.
const LIST_FILES: &str = "
import argparse, contextlib, encodings.ascii, encodings.idna, encodings.latin_1
import http.server, os, runpy, sys
print(os.path.realpath(sys.executable))
for module in list(sys.modules.values()):
    if getattr(module, '__file__', None):
        print(module.__file__)
";

pub struct WebServer {
    pub interpreter: PathBuf,
    pub modules: Vec<PathBuf>,
}

impl WebServer {
    pub fn find() -> Result<Self> {
        // -I: this user's additions to Python are not needed. -S is not given, since the
        // server's own start needs `site`.
        let listed = PYTHON.output(&["-I", "-c", LIST_FILES], Path::new("/"))?;
        let mut files = listed.lines().map(PathBuf::from);
        Ok(Self {
            interpreter: files.next().unwrap_or_default(),
            modules: files.collect(),
        })
    }
}
