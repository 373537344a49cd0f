//! Why taktd cannot start, or ends.

use std::{io, path::PathBuf};

use thiserror::Error;

#[derive(Debug, Error)]
pub enum Error {
    #[error("another taktd is running; there is one for the whole host")]
    Running,
    #[error("{path}: {source}")]
    File { path: PathBuf, source: io::Error },
    #[error("{doing}: {source}")]
    System {
        doing: &'static str,
        source: io::Error,
    },
    #[error(transparent)]
    Kernel(#[from] takt_kernel::Error),
}

impl Error {
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        |source| Self::File { path, source }
    }

    pub(crate) fn system<E: Into<io::Error>>(doing: &'static str) -> impl FnOnce(E) -> Self {
        move |source| Self::System {
            doing,
            source: source.into(),
        }
    }
}
