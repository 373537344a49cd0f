//! What a host tells of itself: reports, and the log.

use std::time::Duration;

use takt_keys::Rate;
use tokio::time::Instant;

use super::{Agent, Engine, spread};
use crate::{
    health::{Class, Sample},
    host::{applier::Applier, store::Store},
    log::Level,
    random,
    report::{Report, Sums},
};

/// Reports after changes.
const REPORTS: Rate = Rate::per_second(1, 4);

impl<E: Engine, A: Applier, S: Store> Agent<E, A, S> {
    pub(super) fn report_soon(&mut self) {
        let soon = Instant::now() + Duration::from_millis(random::below(200));
        self.report_at = self.report_at.min(soon);
    }

    pub(super) async fn report(&mut self) {
        let now = Instant::now();
        if !self.report_bucket.take(&REPORTS, self.now_ns()) {
            self.report_at = now + Duration::from_secs(1);
            return;
        }
        let period = self.config.period;
        self.report_at = now + period - period / 10 + spread(period / 5);
        let sample = self.applier.sample().await;
        let report = self.describe(sample.ok().as_ref());
        // Without the engine the next one tells.
        let _ = self.engine.report(report.seal(&self.signer)).await;
    }

    fn describe(&mut self, sample: Option<&Sample>) -> Report {
        self.seq += 1;
        let own = self.journal.in_force;
        let policy = own.and_then(|own| own.policy);
        let file = policy.map(|digest| self.store.policy_file(&digest));
        let running = self.running.as_ref();
        let drifted = sample.filter(|sample| sample.pending.is_none() && running.is_none());
        let drifted = drifted.zip(file).is_some_and(|(sample, file)| {
            let is_other = |policy: &String| *policy != file.to_string_lossy();
            sample.policies.iter().any(is_other)
        });
        let wanted = self
            .revision
            .as_ref()
            .and_then(|(revision, _)| revision.wanted(&self.config.identity, &self.config.labels));
        let failed = wanted.and_then(|wanted| self.journal.failure(wanted.content.since));
        Report {
            fleet: self.config.fleet.clone(),
            id: self.config.identity.clone(),
            instance: self.instance.clone(),
            seq: self.seq,
            labels: self.config.labels.clone(),
            number: self.number(),
            in_force: own.map_or(0, |own| own.since),
            policy: policy.map_or_else(String::new, |digest| digest.short()),
            trial: running.map_or(0, |running| running.content.since),
            failed: failed.map_or(0, |failed| failed.since),
            why: failed.map_or_else(|| self.why.clone(), |failed| failed.why.clone()),
            drifted,
            refused: self.refused,
            sums: sample.map_or_else(Sums::default, sums),
        }
    }

    pub(super) fn tell(&mut self, level: Level, text: &str) {
        self.log.tell(level, text);
    }
}

/// Digest of a sample, for reports.
fn sums(sample: &Sample) -> Sums {
    let worst = sample
        .classes
        .iter()
        .max_by_key(|class| class.dropped_packets);
    let worst = worst.filter(|class| class.dropped_packets > 0);
    let total = |of: fn(&Class) -> u64| {
        let all = sample.classes.iter().map(of);
        all.fold(0, u64::saturating_add)
    };
    Sums {
        sent: total(|class| class.sent_packets),
        dropped: total(|class| class.dropped_packets),
        worst: worst.map_or_else(String::new, |class| {
            let name = format!("{}/{}", class.device, class.name);
            name.chars().take(64).collect()
        }),
        problems: u32::try_from(sample.problems.len()).unwrap_or(u32::MAX),
    }
}
