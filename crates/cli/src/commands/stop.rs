//! Why a command that goes on stopped.

use std::{io, path::Path};

use takt_host::Error;

use crate::{args::Output, exit::Exit, print};

pub enum Stop {
    Host(Error),
    /// While writing to a file, or waiting.
    Failed(String),
}

impl Stop {
    /// While waiting.
    pub fn system(error: nix::Error) -> Self {
        Self::Failed(format!("waiting: {error}"))
    }

    /// Print it.
    pub fn told(self, output: Output) -> Exit {
        match self {
            Self::Host(error) => print::refused(output, &error),
            Self::Failed(reason) => print::failure(output, Exit::Failed, &reason),
        }
    }

    /// While writing to a file.
    pub fn file(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |error| Self::Failed(format!("{}: {error}", path.display()))
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Host(error)
    }
}
