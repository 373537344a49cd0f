//! Which processors share a last-level cache: the scheduler has a queue of ordinary threads for
//! each.

use takt_algo::sys::TAKT_LLCS;

use crate::os::caches::{Cache, caches_of};

/// The last-level caches of a host, as numbers from 0.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Llcs {
    /// Of each processor.
    pub of_cpus: Vec<u32>,
    /// At least 1.
    pub count: u32,
}

impl Llcs {
    /// Those of this host.
    pub fn find(cpus: u32) -> Self {
        let caches: Vec<_> = (0..cpus).map(caches_of).collect();
        Self::among(&caches)
    }

    /// By the caches of each processor. Processors of which no shared cache is known belong to the
    /// first: one queue for many is never wrong, and one for a single processor saves nothing.
    fn among(caches: &[Vec<Cache>]) -> Self {
        let mut known = Vec::new();
        let mut of_cpus = Vec::new();
        for shared in caches.iter().map(|caches| shared_by(caches)) {
            if shared.is_some() && !known.contains(&shared) {
                known.push(shared);
            }
            let number = known.iter().position(|other| *other == shared);
            of_cpus.push(number.unwrap_or(0) as u32 % TAKT_LLCS);
        }
        let count = of_cpus.iter().max().map_or(1, |last| last + 1);
        Self { of_cpus, count }
    }
}

/// The processors that share the last-level cache, if they are several.
fn shared_by(caches: &[Cache]) -> Option<&str> {
    let with_data = caches.iter().filter(|cache| cache.kind != "Instruction");
    let last = with_data.max_by_key(|cache| cache.level)?;
    last.shared.contains(['-', ',']).then_some(&*last.shared)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(level: u32, kind: &str, shared: &str) -> Cache {
        Cache {
            level,
            kind: kind.into(),
            shared: shared.into(),
        }
    }

    /// A processor with caches of its own before the last.
    fn cpu(own: &str, last: &str) -> Vec<Cache> {
        vec![
            cache(1, "Data", own),
            cache(3, "Unified", last),
            cache(1, "Instruction", own),
            cache(2, "Unified", own),
        ]
    }

    fn among(caches: &[Vec<Cache>]) -> (Vec<u32>, u32) {
        let Llcs { of_cpus, count } = Llcs::among(caches);
        (of_cpus, count)
    }

    #[test]
    fn processors_of_a_cache_have_its_number() {
        let two = [
            cpu("0", "0,2"),
            cpu("1", "1,3"),
            cpu("2", "0,2"),
            cpu("3", "1,3"),
        ];
        assert_eq!(among(&two), (vec![0, 1, 0, 1], 2));
        let one = [cpu("0", "0-1"), cpu("1", "0-1")];
        assert_eq!(among(&one), (vec![0, 0], 1));
    }

    #[test]
    fn the_last_with_data_counts() {
        let found = [cache(2, "Unified", "0-1"), cache(3, "Instruction", "0-3")];
        assert_eq!(shared_by(&found), Some("0-1"));
    }

    #[test]
    fn the_unknown_belong_to_the_first() {
        assert_eq!(among(&[]), (vec![], 1));
        assert_eq!(among(&[vec![], vec![]]), (vec![0, 0], 1));
        // The third is offline.
        let found = [
            cpu("0", "0-1"),
            cpu("1", "0-1"),
            vec![],
            cpu("3", "3-4"),
            cpu("4", "3-4"),
        ];
        assert_eq!(among(&found), (vec![0, 0, 0, 1, 1], 2));
    }

    #[test]
    fn a_cache_of_one_processor_is_no_group() {
        let found = [
            cpu("0", "0"),
            cpu("1", "1"),
            cpu("2", "2-3"),
            cpu("3", "2-3"),
        ];
        assert_eq!(among(&found), (vec![0, 0, 0, 0], 1));
    }

    #[test]
    fn too_many_share_numbers() {
        let pair = |at: u32| {
            let both = format!("{}-{}", 2 * at, 2 * at + 1);
            [cpu("", &both), cpu("", &both)]
        };
        let many: Vec<_> = (0..TAKT_LLCS + 1).flat_map(pair).collect();
        let (of_cpus, count) = among(&many);
        assert_eq!(count, TAKT_LLCS);
        assert_eq!(of_cpus[2..4], [1, 1]);
        assert_eq!(of_cpus[of_cpus.len() - 2..], [0, 0]);
    }
}
