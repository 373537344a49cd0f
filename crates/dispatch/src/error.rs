//! What can fail beside the policy.

use std::{io, path::PathBuf};

use thiserror::Error;

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, Error)]
pub enum Error {
    #[error("{path}: {source}", path = path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("{doing}: {source}")]
    System {
        doing: &'static str,
        source: io::Error,
    },
    #[error("only root may give threads SCHED_FIFO: sudo takt dispatch run …")]
    NotRoot,
    #[error("another dispatcher is already running; `takt dispatch status` shows it")]
    Running,
    #[error(
        "takt's scheduler in the kernel already runs tasks of a policy: `takt revert` first, or apply this \
         policy with `takt apply`"
    )]
    KernelKeepsTasks,
    #[error(
        "this process may not use SCHED_FIFO: its control group has no realtime time \
         (cpu.rt_runtime_us), or RLIMIT_RTPRIO forbids it"
    )]
    NoRealtime,
    #[error("the keeper {how}; {restored} threads that it left in their slots were restored")]
    Keeper { restored: usize, how: &'static str },
    #[error("no dispatcher is running here; `takt dispatch run POLICY` starts one")]
    NotRunning,
}

impl Error {
    pub fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { path, source }
    }

    pub fn doing(doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::System { doing, source }
    }
}
