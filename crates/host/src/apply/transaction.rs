//! Putting parts in force: all of them, or none.

use crate::{
    error::Error,
    part::{Host, Part},
};

/// All parts, or none of them. A part that has done nothing yet has nothing to undo.
pub(super) fn put_in_force(parts: &mut [&mut dyn Part], host: &mut Host) -> Result<(), Error> {
    let done = for_each(parts, |part| part.prepare(host))
        .and_then(|()| for_each(parts, |part| part.commit(host)));
    if let Err(error) = done {
        let undone = parts.iter_mut().rev().flat_map(|part| part.undo(host));
        return Err(error.after(undone));
    }
    for_each(parts, |part| part.tidy(host))
}

fn for_each(
    parts: &mut [&mut dyn Part],
    mut step: impl FnMut(&mut dyn Part) -> Result<(), Error>,
) -> Result<(), Error> {
    parts.iter_mut().try_for_each(|part| step(*part))
}

#[cfg(test)]
mod tests {
    use std::{cell::RefCell, io, rc::Rc};

    use super::*;
    use crate::{
        error::NotTakenBack,
        os::OsError,
        part::{Ending, Query, Undone},
        state::source::Source,
    };

    /// Writes down its steps, and fails at some.
    struct Fake {
        name: &'static str,
        fails_at: &'static [&'static str],
        log: Rc<RefCell<Vec<String>>>,
    }

    impl Fake {
        fn step(&self, step: &str) -> Result<(), Error> {
            let step_of_part = format!("{} {step}", self.name);
            self.log.borrow_mut().push(step_of_part.clone());
            if self.fails_at.contains(&step) {
                Err(OsError::file(step_of_part)(io::ErrorKind::Other.into()))
            } else {
                Ok(())
            }
        }
    }

    impl Part for Fake {
        type Undone = ();
        type Status = ();

        fn revert(_: &mut Host, _: Ending) -> Result<Undone<()>, Error> {
            Ok(Undone::all(()))
        }

        fn source(_: &mut Host) -> Result<Option<Source>, Error> {
            Ok(None)
        }

        fn status(_: &mut Host, _: Query) -> Result<(), Error> {
            Ok(())
        }

        fn settle() -> Result<bool, Error> {
            Ok(false)
        }

        fn prepare(&mut self, _: &mut Host) -> Result<(), Error> {
            self.step("prepare")
        }

        fn commit(&mut self, _: &mut Host) -> Result<(), Error> {
            self.step("commit")
        }

        fn undo(&mut self, _: &mut Host) -> Vec<Error> {
            self.step("undo").err().into_iter().collect()
        }

        fn tidy(&mut self, _: &mut Host) -> Result<(), Error> {
            self.step("tidy")
        }
    }

    /// Two parts that fail at these steps; returns the result and the log.
    fn run(fails_at: [&'static [&'static str]; 2]) -> (Result<(), Error>, Vec<String>) {
        let log = Rc::default();
        let fake = |name, fails_at| Fake {
            name,
            fails_at,
            log: Rc::clone(&log),
        };
        let (mut a, mut b) = (fake("a", fails_at[0]), fake("b", fails_at[1]));
        let host = &mut Host::open().unwrap();
        let done = put_in_force(&mut [&mut a, &mut b], host);
        let log = log.borrow().clone();
        (done, log)
    }

    #[test]
    fn every_part_is_prepared_before_any_is_in_force() {
        let (done, log) = run([&[], &[]]);
        done.unwrap();
        let expected = [
            "a prepare",
            "b prepare",
            "a commit",
            "b commit",
            "a tidy",
            "b tidy",
        ];
        assert_eq!(log, expected);
    }

    #[test]
    fn a_failure_undoes_all_parts_in_reverse_order() {
        let (done, log) = run([&[], &["commit"]]);
        assert_eq!(done.unwrap_err().to_string(), "b commit: other error");
        assert_eq!(log[3..], ["b commit", "b undo", "a undo"]);
        let (done, log) = run([&["prepare"], &[]]);
        done.unwrap_err();
        assert_eq!(log, ["a prepare", "b undo", "a undo"]);
    }

    #[test]
    fn what_cannot_be_undone_is_reported_and_stops_nothing() {
        let (done, log) = run([&["undo"], &["commit", "undo"]]);
        let error = done.unwrap_err();
        let Some(NotTakenBack { also, .. }) = error.of() else {
            panic!("{error}");
        };
        assert_eq!(also.len(), 2);
        assert_eq!(log[3..], ["b commit", "b undo", "a undo"]);
    }
}
