//! What a host hears, and which revisions it obeys.

use std::time::Duration;

use takt_keys::Rate;
use tokio::time::{Instant, sleep};

use super::{Agent, CALL_SPREAD, Engine, Heard, RETRY, spread};
use crate::{
    host::{applier::Applier, store::Store},
    log::Level,
    report::Report,
    revision::{Refused, Revision},
};

/// Revisions that are looked at: a burst, and then so many a second.
const LOOKS: Rate = Rate::per_second(4, 32);
/// Reports that were asked for.
const CALLS: Rate = Rate::new(20_000_000_000, 2);
/// The revision is asked for so often, since a message may be lost.
const POLL: Duration = Duration::from_secs(300);

impl<E: Engine, A: Applier, S: Store> Agent<E, A, S> {
    pub(super) async fn hear(&mut self, heard: Heard) -> std::io::Result<()> {
        match heard {
            Heard::Revision(bytes) => self.offer(bytes).await,
            Heard::Own(bytes) => {
                self.hear_own(&bytes);
                Ok(())
            }
            Heard::Call => {
                if self.call_bucket.take(&CALLS, self.now_ns()) {
                    let soon = Instant::now() + spread(CALL_SPREAD);
                    self.report_at = self.report_at.min(soon);
                }
                Ok(())
            }
            Heard::Connected => {
                self.tell(Level::Info, "connected to the engine");
                // Not all hosts at one moment, if the engine comes back.
                self.poll_at = Instant::now() + spread(Duration::from_secs(2));
                self.report_at = self
                    .report_at
                    .min(Instant::now() + spread(Duration::from_secs(5)));
                Ok(())
            }
            Heard::Trouble(text) => {
                self.tell(Level::Warning, &format!("the engine: {text}"));
                Ok(())
            }
            Heard::Disconnected => {
                let told = "the engine is gone; this host keeps its policy";
                self.tell(Level::Warning, told);
                Ok(())
            }
        }
    }

    /// A report of this identity that another sent.
    fn hear_own(&mut self, bytes: &[u8]) {
        if !self.looks.take(&LOOKS, self.now_ns()) {
            self.refused.flooded += 1;
            return;
        }
        let told = match Report::open(bytes, &self.config.fleet) {
            // Its own, which the engine plays again.
            Ok((key, report))
                if key == self.signer.public() && report.instance == self.instance =>
            {
                return;
            }
            Ok((key, _)) if key == self.signer.public() => {
                "another agent has this host's identity and key: was its disk copied?".to_owned()
            }
            Ok((key, _)) => format!("another host has this identity, and key {key}"),
            Err(untrusted) => {
                format!("a report in this host's name is not by its key: {untrusted}")
            }
        };
        self.refused.duplicate += 1;
        self.tell(Level::Error, &told);
    }

    /// Bytes that may be a revision.
    pub(super) async fn offer(&mut self, bytes: Vec<u8>) -> std::io::Result<()> {
        let own = self.revision.as_ref();
        if own.is_some_and(|(_, own)| *own == bytes) {
            return Ok(());
        }
        if !self.looks.take(&LOOKS, self.now_ns()) {
            self.refused.flooded += 1;
            // One of those might have been good.
            self.poll_at = self.poll_at.min(Instant::now() + RETRY);
            return Ok(());
        }
        match self.examine(&bytes) {
            Ok(revision) => {
                // On disk before anything follows from it.
                self.store.keep_revision(&bytes)?;
                let number = revision.number;
                self.revision = Some((revision, bytes));
                self.tell(Level::Info, &format!("follows revision {number}"));
                // What could not be tried may be another thing now.
                self.retry_at = None;
                self.why.clear();
                // It reports what it does about that: ten thousand need not say that they heard.
            }
            Err(refused) => {
                match &refused {
                    forged if forged.is_forged() => self.refused.forged += 1,
                    Refused::Replayed { .. } | Refused::Twice(_) => self.refused.replayed += 1,
                    _ => self.refused.foreign += 1,
                }
                self.tell(Level::Error, &format!("refuses a revision: {refused}"));
            }
        }
        Ok(())
    }

    fn examine(&self, bytes: &[u8]) -> Result<Revision, Refused> {
        let revision = Revision::open(bytes, &self.config.pins, &self.config.fleet)?;
        let floor = self.number();
        match revision.number {
            number if number > floor => Ok(revision),
            number if number == floor && floor > 0 => Err(Refused::Twice(number)),
            number => Err(Refused::Replayed { number, floor }),
        }
    }

    /// Asks for the last revision; what comes is heard. An engine that does not answer keeps nothing
    /// waiting.
    pub(super) fn poll(&mut self) {
        self.poll_at = Instant::now() + POLL + spread(POLL / 4);
        if let Some(earlier) = self.polling.take() {
            earlier.abort();
        }
        let (engine, tell) = (self.engine.clone(), self.tell_self.clone());
        self.polling = Some(tokio::spawn(async move {
            while engine
                .latest()
                .await
                .map(|found| found.map(|own| tell.try_send(own)))
                .is_err()
            {
                sleep(RETRY * 6).await;
            }
        }));
    }
}
