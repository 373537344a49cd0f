//! The end of a run: what failed, and one closing line that adds all up.

use std::{fmt::Write, time::Duration};

use crate::said::{self, Counts};

/// What came of one program, or of one step without tests.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdict {
    pub label: String,
    pub counts: Counts,
    pub is_ok: bool,
    /// How it ended.
    pub end: String,
    pub said: String,
}

impl Verdict {
    /// That of a program of libtest's, or of several; `counts` are those in its output.
    pub fn of_program(
        label: String,
        is_success: bool,
        end: String,
        said: String,
        counts: Option<Counts>,
    ) -> Verdict {
        Verdict {
            label,
            is_ok: is_success && counts.is_some(),
            counts: counts.unwrap_or_default(),
            end: match counts {
                None if is_success => "it ended without a result".to_owned(),
                _ => end,
            },
            said,
        }
    }

    /// That of a step without tests, whose output has been seen.
    pub fn of_step(label: String, is_success: bool, end: String) -> Verdict {
        Verdict {
            label,
            is_ok: is_success,
            end,
            ..Verdict::default()
        }
    }

    /// For a list of what has failed.
    fn failure(&self) -> String {
        let names = said::failed_tests(&self.said);
        if names.is_empty() {
            format!("failed: {}: {}\n", self.label, self.end)
        } else {
            (names.iter())
                .map(|name| format!("failed: {}: {name}\n", self.label))
                .collect()
        }
    }
}

/// Whether all went well.
pub fn is_ok(verdicts: &[Verdict]) -> bool {
    verdicts.iter().all(|verdict| verdict.is_ok)
}

/// The end of a run that took `took`.
pub fn closing(verdicts: &[Verdict], took: Duration) -> String {
    let mut told = String::new();
    let failed = || verdicts.iter().filter(|verdict| !verdict.is_ok);
    let accounts = said::accounts(failed().map(|verdict| verdict.said.as_str()));
    if !accounts.is_empty() {
        told = format!("\nWhat failed tests said, once more:\n\n{accounts}\n");
    }
    told.extend(failed().map(Verdict::failure));
    let counts: Counts = verdicts.iter().map(|verdict| verdict.counts).sum();
    let _ = write!(
        told,
        "\ntest result: {}. {} passed; {} failed; {} ignored; finished in {} s\n",
        if is_ok(verdicts) { "ok" } else { "FAILED" },
        counts.passed,
        counts.failed,
        counts.ignored,
        took.as_secs()
    );
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAILED: &str = "\
test a ... ok
test b ... FAILED
thread 'b' panicked at crates/x.rs:1:1:
it is 2

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.1s
";
    const PASSED: &str = "test result: ok. 5 passed; 0 failed; 2 ignored; 0 measured\n";

    fn program(is_success: bool, said: &str) -> Verdict {
        Verdict::of_program(
            "takt x".into(),
            is_success,
            "exit status: 101".into(),
            said.into(),
            said::counts(said),
        )
    }

    fn end(verdicts: &[Verdict]) -> String {
        closing(verdicts, Duration::from_secs(7))
    }

    #[test]
    fn all_are_added_up() {
        let step = Verdict::of_step("format".into(), true, String::new());
        assert_eq!(
            end(&[step, program(true, PASSED), program(true, PASSED)]),
            "\ntest result: ok. 10 passed; 0 failed; 4 ignored; finished in 7 s\n"
        );
    }

    #[test]
    fn failures_are_told_once_more() {
        assert_eq!(
            end(&[program(true, PASSED), program(false, FAILED)]),
            "\nWhat failed tests said, once more:\n\n\
             thread 'b' panicked at crates/x.rs:1:1:\nit is 2\n\n\
             test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.1s\n\n\
             failed: takt x: b\n\n\
             test result: FAILED. 6 passed; 1 failed; 2 ignored; finished in 7 s\n"
        );
    }

    #[test]
    fn an_end_without_a_result_is_a_failure() {
        let told = end(&[program(true, "running 3 tests\n")]);
        assert!(
            told.contains("failed: takt x: it ended without a result\n"),
            "{told}"
        );
        assert!(
            told.contains("test result: FAILED. 0 passed; 0 failed"),
            "{told}"
        );
        let told = end(&[program(false, "running 3 tests\n")]);
        assert!(
            told.contains("failed: takt x: exit status: 101\n"),
            "{told}"
        );
    }

    #[test]
    fn a_step_that_failed_is_a_failure() {
        let step = Verdict::of_step("lints".into(), false, "exit status: 1".into());
        let told = end(&[step]);
        assert!(told.contains("failed: lints: exit status: 1\n"), "{told}");
        assert!(told.contains("test result: FAILED."), "{told}");
    }
}
