//! Policies on trial whose two processes are both gone, killed for example: taktd takes them back.

use std::thread::{self, JoinHandle};

use takt_host::{Error, Pending, Stage};
use tracing::{info, warn};

/// How often restoring the state before is tried, as by a guard.
const TRIES: u32 = 60;

/// The trial of this network namespace.
#[derive(Default)]
pub(crate) struct Trials {
    /// One is undecided: its processes may die at any time, and no event tells.
    is_waiting: bool,
    takes_back: Option<JoinHandle<()>>,
    tries: u32,
}

impl Trials {
    /// Whether to look again soon.
    pub fn is_waiting(&self) -> bool {
        self.is_waiting
    }

    /// Look at it now. A thread takes it back, so that no client waits meanwhile.
    pub fn follow(&mut self) -> Result<(), Error> {
        if let Some(thread) = self.takes_back.take_if(|thread| thread.is_finished()) {
            let _ = thread.join();
        }
        let trial = Pending::here()?;
        if trial.is_none() {
            self.tries = 0;
        }
        self.is_waiting = trial.is_some() && self.tries < TRIES;
        let Some(trial) = trial.filter(Pending::is_left_behind) else {
            return Ok(());
        };
        if self.takes_back.is_none() && self.tries < TRIES {
            self.tries += 1;
            let thread = thread::Builder::new().name("taktd trial".to_owned());
            self.takes_back = thread.spawn(move || take_back(trial)).ok();
        }
        Ok(())
    }
}

fn take_back(mut trial: Pending) {
    let policy = trial.policy().to_owned();
    match trial.take_back() {
        Ok(Stage::TakenBack { left, .. }) => {
            warn!("policy {policy} was reverted: it was not confirmed, and its takt was gone");
            left.iter().for_each(|left| warn!("left alone: {left}"));
        }
        Ok(_) => info!("policy {policy} was decided meanwhile"),
        // It is tried again.
        Err(error) => warn!("policy {policy}, which was not confirmed: {error}"),
    }
}
