//! What a commit decides about its tests: which share of long loops runs, and the seed of property
//! tests. So a commit's tests are the same each time, and those of commits in a row differ.

use crate::git::git;

/// Tells tests with long loops to run the share with this number, modulo their number of shares.
/// Without it they run in full.
pub const ROUND: &str = "TAKT_TEST_ROUND";
/// proptest's own.
pub const SEED: &str = "PROPTEST_RNG_SEED";

/// The values of [`ROUND`] and [`SEED`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Round {
    pub number: u64,
    pub seed: u64,
}

impl Round {
    /// That of the sources here.
    pub fn of_head() -> Round {
        let head = git(&["rev-parse", "HEAD"]).unwrap_or_default();
        let is_whole = git(&["rev-parse", "--is-shallow-repository"])
            .is_ok_and(|is_shallow| is_shallow == "false");
        let count = git(&["rev-list", "--count", "HEAD"]).ok();
        Round::new(
            &head,
            count
                .filter(|_| is_whole)
                .and_then(|count| count.parse().ok()),
        )
    }

    /// `count` is the number of commits so far, which a shallow clone does not know; there the
    /// commit's name takes its place. Without git everything is 0.
    fn new(head: &str, count: Option<u64>) -> Round {
        let name = head
            .get(..15)
            .and_then(|digits| u64::from_str_radix(digits, 16).ok())
            .unwrap_or(0);
        Round {
            number: count.unwrap_or(name),
            seed: name,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commit_decides() {
        let head = "ad3081f5cc9d0c1f52f11cf1e5b0ed35f1b75ad6";
        let seed = 0xad3_081f_5cc9_d0c1;
        assert_eq!(Round::new(head, Some(7)), Round { number: 7, seed });
        let shallow = Round { number: seed, seed };
        assert_eq!(Round::new(head, None), shallow);
        assert_eq!(Round::new("", None), Round { number: 0, seed: 0 });
    }
}
