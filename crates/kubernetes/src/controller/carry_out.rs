//! What was decided about an object is done: by the operator, or in the API.

use std::{io, time::Duration};

use kube::{
    ResourceExt,
    api::{Patch, PatchParams},
};
use serde_json::json;
use takt_fleet::{
    check::{self, Unfit},
    operator::{Ended, Error, Push, Roster, Stage},
    revision::{HOLD_MIN_MS, Plan, Revision},
    selector::Selector,
};

use super::Controller;
use crate::{
    api::soon,
    decide::{Step, rival, step},
    resource::FINALIZER,
    status::Outcome,
};

impl Controller {
    /// One step for one object. Whether the fleet's revision is still the same.
    pub(super) async fn serve(
        &mut self,
        name: &str,
        revision: &Revision,
        roster: Option<&Roster>,
    ) -> Result<bool, Error> {
        let Some(own) = self.objects.get(name) else {
            return Ok(true);
        };
        let others = self.objects.values().map(|own| &own.policy);
        let rival = rival(&own.policy, others);
        let next = step(&own.policy, &own.said, rival, revision);
        match next {
            Step::Rest => Ok(true),
            Step::Hold => {
                self.hold(name, true).await;
                Ok(true)
            }
            Step::Refuse { reason, why } => {
                self.say(name, &Outcome::Refused(reason, why));
                Ok(true)
            }
            Step::Superseded { number } => {
                let (since, wave) = (own.said.revision, own.said.wave);
                let stage = Stage::Ended(Ended::Superseded(number));
                self.say(name, &Outcome::Stage(since, wave, stage));
                Ok(true)
            }
            Step::LetGo { end } => {
                let to = own.policy.spec.push().ok();
                if let Some(push) = to.filter(|_| end) {
                    self.end(push).await?;
                }
                self.hold(name, false).await;
                Ok(false)
            }
            Step::Push(push) => {
                self.push(name, *push).await?;
                Ok(false)
            }
            Step::Follow { since, pause } => {
                let to: Option<Selector> = own.policy.spec.to.parse().ok();
                let Some((to, roster)) = to.zip(roster) else {
                    return Ok(true);
                };
                if let Some(paused) = pause {
                    self.operator.pause(&to, paused).await?;
                    self.forget_rollout(name);
                    return Ok(false);
                }
                self.follow(name, &to, since, roster).await
            }
        }
    }

    fn forget_rollout(&mut self, name: &str) {
        if let Some(own) = self.objects.get_mut(name) {
            own.rollout = None;
        }
    }

    async fn push(&mut self, name: &str, push: Push) -> Result<(), Error> {
        let roster = self.operator.fresh_roster().await?;
        let file = self.directory.join(format!("{name}.toml"));
        tokio::fs::write(&file, push.policy.as_deref().unwrap_or_default()).await?;
        let (to, takt) = (push.to.clone(), self.takt.clone());
        let checked = tokio::task::spawn_blocking(move || {
            let checked = check::kernels(&takt, &file, &to, &roster);
            let _ = std::fs::remove_file(&file);
            (checked, roster)
        });
        let (checked, roster) = checked.await.map_err(io::Error::other)?;
        if let Err(Unfit { code, why }) = checked {
            let outcome = match code {
                Some(2) => Outcome::Refused("Invalid", why),
                Some(3) => Outcome::Refused("Lacking", why),
                _ => Outcome::Waiting(why),
            };
            self.postpone(name);
            self.say(name, &outcome);
            return Ok(());
        }
        let (current, _) = self.operator.push(&push, &roster).await?;
        self.forget_rollout(name);
        self.say(name, &Outcome::Pushed(current.revision.number));
        Ok(())
    }

    /// As `takt fleet push --none`: hosts end it without a trial.
    async fn end(&mut self, push: Push) -> Result<(), Error> {
        let none = Push {
            policy: None,
            unseen: true,
            // Nothing is tried, and hosts begin within a part of this.
            hold: Duration::from_millis(HOLD_MIN_MS),
            plan: Plan {
                canary_ppm: 1_000_000,
                ..push.plan
            },
            note: "its TaktPolicy was deleted".to_owned(),
            ..push
        };
        let roster = self.operator.roster().await?;
        self.operator.push(&none, &roster).await.map(|_| ())
    }

    async fn follow(
        &mut self,
        name: &str,
        to: &Selector,
        since: u64,
        roster: &Roster,
    ) -> Result<bool, Error> {
        let rollout = self
            .objects
            .get_mut(name)
            .and_then(|own| own.rollout.take());
        let mut rollout = match rollout.filter(|rollout| rollout.since() == since) {
            Some(rollout) => rollout,
            None => self.operator.take_over(to).await?,
        };
        let wave = rollout.wave();
        let stage = self.operator.step(&mut rollout, roster).await?;
        let is_same = rollout.wave() == wave && !matches!(stage, Stage::Ended(Ended::Halted(..)));
        let is_over = matches!(stage, Stage::Ended(_));
        self.say(name, &Outcome::new(&rollout, stage));
        if let Some(own) = self.objects.get_mut(name) {
            own.rollout = Some(rollout);
            // Hosts that come later are seen as well, and change its status now and then.
            if is_over && !own.is_told {
                self.operator.remember()?;
            }
        }
        Ok(is_same)
    }

    /// Adds the finalizer to an object, or takes it away.
    async fn hold(&mut self, name: &str, holds: bool) {
        let Some(own) = self.objects.get(name) else {
            return;
        };
        let others = own.policy.finalizers().iter();
        let others = others.filter(|other| *other != FINALIZER).cloned();
        let finalizers: Vec<String> = others.chain(holds.then(|| FINALIZER.to_owned())).collect();
        let patch = json!({ "metadata": {
            "finalizers": finalizers,
            // An object that was changed meanwhile is looked at again.
            "resourceVersion": own.policy.resource_version(),
        } });
        let (terms, patch) = (PatchParams::default(), Patch::Merge(&patch));
        match soon(self.api.patch(name, &terms, &patch)).await {
            Ok(policy) => self.know(policy),
            Err(error) => eprintln!("takt-kubernetes: {name}: {error}"),
        }
    }
}
