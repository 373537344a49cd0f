//! Long loops, and tests of some machines, in shares: a run with a round's number, as CI's, takes
//! the share whose turn it is, and one without takes all.

use std::{
    env,
    hash::{DefaultHasher, Hash, Hasher},
};

/// The round's number: commits that follow each other have following numbers.
pub const ROUND: &str = "TAKT_TEST_ROUND";
/// Begins a test's line about a loop that ran in part.
pub const IN_PART: &str = "in part: ";

/// Of these cases, those whose turn it is: every `shares`th. Without a round, all.
pub fn in_turn<T>(what: &str, cases: impl IntoIterator<Item = T>, shares: usize) -> Vec<T> {
    let cases: Vec<T> = cases.into_iter().collect();
    let Some(round) = round() else {
        return cases;
    };
    let all = cases.len();
    let taken: Vec<T> = share(cases, round, shares);
    if taken.len() < all {
        println!("{IN_PART}{what}: {} of {all}", taken.len());
    }
    taken
}

/// Whether it is this test's turn, which it is in two rounds of `2 * shares`. Two, since loops in
/// two shares take turns by the round's number as well. Without a round, always.
pub fn is_its_turn(test: &str, shares: usize) -> bool {
    round().is_none_or(|round| in_share(test, round / 2, shares))
}

fn in_share(test: &str, turn: usize, shares: usize) -> bool {
    let mut hasher = DefaultHasher::new();
    test.hash(&mut hasher);
    hasher.finish() as usize % shares == turn % shares
}

fn round() -> Option<usize> {
    let round = env::var(ROUND).ok()?;
    let number = round.parse();
    Some(number.unwrap_or_else(|_| panic!("{ROUND}={round} is no whole number")))
}

fn share<T>(cases: Vec<T>, round: usize, shares: usize) -> Vec<T> {
    let skipped = round % shares;
    cases.into_iter().skip(skipped).step_by(shares).collect()
}

#[test]
fn shares_are_every_case_once() {
    let mut all: Vec<usize> = (7..11)
        .flat_map(|round| share((0..10).collect(), round, 4))
        .collect();
    all.sort_unstable();
    assert_eq!(all, (0..10).collect::<Vec<_>>());
}

#[test]
fn a_test_has_one_turn_of_each_share() {
    for test in ["gap::one", "gap::other", "tree::third"] {
        let turns = (7..10).filter(|turn| in_share(test, *turn, 3)).count();
        assert_eq!(turns, 1, "{test}");
    }
}
