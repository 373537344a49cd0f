//! The options of every experiment: schedulers, length, program.

use std::path::{Path, PathBuf};

use super::error::{ExperimentError, Result};
use super::gateway;
use super::root::Root;
use super::scheduler::Scheduler;

/// How an experiment is run.
#[derive(Debug, Clone)]
pub struct Options {
    /// A minute or a few instead of a quarter of an hour or more.
    pub short: bool,
    /// On this very machine, in real time, beside what else runs there.
    pub native: bool,
    /// Names of the only schedulers to run; all if empty.
    pub only: Vec<String>,
    /// Of `gateway`: its part.
    pub gateway: gateway::Choice,
    /// Of `radio`, and of the incast of `pacing`.
    pub seed: u64,
    /// The `takt` that applies and reverts policies, usually this very program.
    pub takt: PathBuf,
}

pub struct Bench {
    pub short: bool,
    pub native: bool,
    pub gateway: gateway::Choice,
    pub seed: u64,
    only: Vec<Scheduler>,
    takt: PathBuf,
}

impl Bench {
    pub fn new(options: Options) -> Result<Self> {
        let only = options
            .only
            .iter()
            .map(|name| Scheduler::named(name))
            .collect::<Result<_>>()?;
        Ok(Self {
            short: options.short,
            native: options.native,
            gateway: options.gateway,
            seed: options.seed,
            only,
            takt: options.takt,
        })
    }

    /// Calls `measure` with each wanted scheduler in turn, except one that the kernel lacks, or on a
    /// real machine one that fails, whatever the reason: that machine is not known. No
    /// scheduler at all is always wanted and first: it is the reference for the others.
    pub fn with_each<T>(
        &self,
        mut measure: impl FnMut(Scheduler, &mut Root<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut found = Vec::new();
        for scheduler in Scheduler::ALL.into_iter().filter(|one| self.wants(*one)) {
            let mut root = Root::new(&self.takt);
            match measure(scheduler, &mut root) {
                Ok(figures) => found.push(figures),
                Err(missing @ ExperimentError::Unsupported { .. }) => {
                    eprintln!("{} is left out: {missing}", scheduler.name());
                }
                Err(error) if self.native && scheduler != Scheduler::None => {
                    eprintln!("{} is left out: {error}", scheduler.name());
                }
                Err(error) => return Err(error),
            }
            root.detach()?;
        }
        Ok(found)
    }

    /// The program that reports on policies.
    pub fn takt(&self) -> &Path {
        &self.takt
    }

    /// Whether all are wanted.
    pub fn wants_all(&self) -> bool {
        self.only.is_empty()
    }

    pub fn wants(&self, scheduler: Scheduler) -> bool {
        scheduler == Scheduler::None || self.only.is_empty() || self.only.contains(&scheduler)
    }
}
