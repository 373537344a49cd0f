//! What every experiment is given: which schedulers, how long, which program.

use std::path::PathBuf;

use super::error::{ExperimentError, Result};
use super::installed::Installed;
use super::scheduler::Scheduler;
use super::setup::{Setup, setup};
use super::shape::Shape;

#[derive(Debug, Clone)]
pub struct Options {
    /// About a minute instead of a quarter of an hour.
    pub short: bool,
    /// Names of the only schedulers to run; all if empty.
    pub only: Vec<String>,
    /// The `takt` that applies and reverts policies, usually this very program.
    pub takt: PathBuf,
}

pub struct Bench {
    pub short: bool,
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
            only,
            takt: options.takt,
        })
    }

    /// The schedulers that are wanted and can express `shape`, and how. No
    /// scheduler at all is always among them, and first, where that is one.
    pub fn setups(&self, shape: &Shape) -> Vec<(Scheduler, Setup)> {
        Scheduler::ALL
            .into_iter()
            .filter(|scheduler| self.wants(*scheduler))
            .filter_map(|scheduler| Some((scheduler, setup(scheduler, shape)?)))
            .collect()
    }

    fn wants(&self, scheduler: Scheduler) -> bool {
        scheduler == Scheduler::None || self.only.is_empty() || self.only.contains(&scheduler)
    }

    /// `None`, and a line of progress, if the kernel lacks this peer.
    pub fn install(&self, scheduler: Scheduler, setup: &Setup) -> Result<Option<Installed<'_>>> {
        match Installed::install(&self.takt, scheduler, &setup.qdisc) {
            Ok(installed) => Ok(Some(installed)),
            Err(missing @ ExperimentError::Unsupported { .. }) => {
                eprintln!("{}: left out: {missing}", scheduler.name());
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}
