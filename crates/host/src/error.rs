//! An error of any room. Each room says in its own file `error.rs` what can go wrong there, by what
//! the user can do about it; this type carries such an error through code that calls several
//! rooms. `cause.rs` lists all.

use std::{
    error,
    fmt::{self, Display},
};

/// Why the host could not be examined or changed; [`Error::cause`] says which room's error it is.
pub struct Error(Box<dyn error::Error + Send + Sync>);

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        Display::fmt(&self.0, f)
    }
}

impl error::Error for Error {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        self.0.source()
    }
}

/// A change failed half-way, and undoing it failed in part.
#[derive(Debug, thiserror::Error)]
#[error("{first}; undoing the earlier steps failed, too: {}", list(also))]
pub struct NotTakenBack {
    /// The first error.
    pub first: Error,
    /// What could not be undone.
    pub also: Vec<Error>,
}

fn list(errors: &[Error]) -> String {
    let each: Vec<String> = errors.iter().map(Error::to_string).collect();
    each.join("; ")
}

impl Error {
    /// Only errors that `cause.rs` lists can become one.
    pub(crate) fn new(error: impl error::Error + Send + Sync + 'static) -> Self {
        Self(Box::new(error))
    }

    /// The error of one room, if it is one.
    pub(crate) fn of<E: error::Error + 'static>(&self) -> Option<&E> {
        self.0.downcast_ref()
    }

    /// The first error, with the errors of undoing what had been done before.
    pub(crate) fn after(self, undoing: impl IntoIterator<Item = Self>) -> Self {
        let also: Vec<Self> = undoing.into_iter().collect();
        if also.is_empty() {
            self
        } else {
            NotTakenBack { first: self, also }.into()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use crate::os::OsError;

    #[test]
    fn what_cannot_be_taken_back_is_said_with_what_went_wrong_first() {
        let file = |path: &str| OsError::file(path)(io::ErrorKind::NotFound.into());
        let alone = file("a").after([]);
        assert!(matches!(alone.of(), Some(OsError::File { .. })));
        assert_eq!(
            file("a").after([file("b"), file("c")]).to_string(),
            "a: entity not found; undoing the earlier steps failed, too: \
             b: entity not found; c: entity not found"
        );
    }
}
