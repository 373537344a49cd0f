//! Many runs that differ by their seeds, on all processors.

use std::{
    num::NonZero,
    ops::RangeInclusive,
    str::FromStr,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

/// More are a mistake in typing.
const SEEDS_MAX: u64 = 1000;

/// `1..20`, both ends included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seeds(RangeInclusive<u64>);

impl Seeds {
    pub fn all(&self) -> Vec<u64> {
        self.0.clone().collect()
    }
}

impl FromStr for Seeds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("seeds are two numbers, such as 1..20, not `{text}`");
        let (first, last) = text.split_once("..").ok_or_else(wrong)?;
        let number = |text: &str| text.parse::<u64>().map_err(|_| wrong());
        let (first, last) = (number(first)?, number(last)?);
        match last.checked_sub(first) {
            None | Some(0) => Err("the second seed must be greater than the first".to_owned()),
            Some(more) if more >= SEEDS_MAX => {
                Err(format!("at most {SEEDS_MAX} seeds in one command"))
            }
            Some(_) => Ok(Self(first..=last)),
        }
    }
}

/// Does all jobs, as many at once as there are processors; the results are in the jobs' order.
pub fn on_all_processors<J: Sync, R: Send>(jobs: &[J], run: impl Fn(&J) -> R + Sync) -> Vec<R> {
    let workers = thread::available_parallelism().map_or(1, NonZero::get);
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<R>>> = jobs.iter().map(|_| Mutex::default()).collect();
    thread::scope(|scope| {
        for _ in 0..workers.min(jobs.len()) {
            scope.spawn(|| {
                while let Some((job, result)) = {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    jobs.get(at).zip(results.get(at))
                } {
                    let done = run(job);
                    if let Ok(mut place) = result.lock() {
                        *place = Some(done);
                    }
                }
            });
        }
    });
    let taken = results.into_iter().map(Mutex::into_inner);
    taken.filter_map(|result| result.ok().flatten()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_both_ends() {
        let seeds: Seeds = "3..5".parse().unwrap();
        assert_eq!(seeds.all(), [3, 4, 5]);
    }

    #[test]
    fn what_is_no_range_is_refused() {
        for wrong in [
            "5", "1..", "..2", "a..b", "5..5", "6..5", "1..1001", "1..=4",
        ] {
            assert!(wrong.parse::<Seeds>().is_err(), "{wrong}");
        }
        assert!("1..1000".parse::<Seeds>().is_ok());
    }

    #[test]
    fn results_are_in_order() {
        let jobs: Vec<u64> = (0..200).collect();
        let doubled = on_all_processors(&jobs, |job| job * 2);
        assert!(
            doubled
                .iter()
                .zip(&jobs)
                .all(|(twice, job)| *twice == job * 2)
        );
        assert_eq!(doubled.len(), jobs.len());
    }
}
