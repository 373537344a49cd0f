//! One contender's turn: all measurements in which it takes part.

use std::path::Path;

use takt_report::Row;

use super::beat::Beats;
use super::contender::Contender;
use super::extent::{CYCLICTEST, Extent};
use super::load::Load;
use super::throughput::Errand;
use super::{
    audio, calls, control, cyclictest, edges, group, jitter, outside, overrun, policy, storm,
    switches, throughput,
};
use crate::experiment::error::Result;
use crate::experiment::metrics::Metrics;
use crate::experiment::root::Root;
use crate::experiment::setup::Qdisc;

pub struct Turn<'lab> {
    takt: &'lab Path,
    contender: Contender,
    root: Root<'lab>,
    /// The policy that Takt follows.
    told: Option<String>,
    rows: Vec<Row>,
}

impl<'lab> Turn<'lab> {
    pub fn new(contender: Contender, takt: &'lab Path) -> Self {
        Self {
            takt,
            contender,
            root: Root::new(takt),
            told: None,
            rows: Vec::new(),
        }
    }

    /// All its rows; it leaves nothing on the machine.
    pub fn take(mut self, extent: &Extent) -> Result<Vec<Row>> {
        self.jitter(extent)?;
        self.storm(extent)?;
        self.control(extent)?;
        self.audio(extent)?;
        self.switches(extent)?;
        self.edges(extent)?;
        self.calls(extent)?;
        self.overrun(extent)?;
        self.group(extent)?;
        self.throughput(extent)?;
        self.cyclictest(extent)?;
        self.root.detach()?;
        Ok(self.rows)
    }

    fn jitter(&mut self, extent: &Extent) -> Result<()> {
        for (beats, name) in [(Beats::slow(), "40ms"), (Beats::fast(), "1ms")] {
            let points = extent.jitter(self.contender, name == "1ms");
            if points.is_empty() {
                continue;
            }
            self.prepare(self.contender.policy(&beats))?;
            for (load, length) in points {
                self.row(format!("{name}-{}", load.name()), |turn| {
                    jitter::under_load(turn.takt, turn.contender, &beats, load, length)
                })?;
            }
        }
        Ok(())
    }

    fn storm(&mut self, extent: &Extent) -> Result<()> {
        let beats = Beats::slow();
        for threaded in [false, true] {
            let loads = extent.storms(self.contender, threaded);
            if loads.is_empty() {
                continue;
            }
            let policy = self.contender.policy(&beats);
            self.prepare(if threaded {
                policy
            } else {
                policy.as_deref().map(policy::without_network_threads)
            })?;
            outside::set_threaded(threaded)?;
            outside::rank_threads(self.contender.network_class())?;
            for load in loads {
                self.row(storm::case(*load, threaded), |turn| {
                    storm::measure(turn.takt, turn.contender, &beats, *load, extent.storm)
                })?;
            }
            outside::set_threaded(false)?;
        }
        Ok(())
    }

    fn control(&mut self, extent: &Extent) -> Result<()> {
        let Some(length) = extent.control(self.contender) else {
            return Ok(());
        };
        let beats = Beats::control();
        self.prepare(self.contender.policy(&beats))?;
        self.row(control::CASE, |turn| {
            control::measure(turn.takt, turn.contender, &beats, length)
        })
    }

    fn audio(&mut self, extent: &Extent) -> Result<()> {
        let Some(length) = extent.audio(self.contender) else {
            return Ok(());
        };
        self.prepare(audio::policy(self.contender))?;
        self.row(audio::CASE, |turn| {
            audio::measure(turn.takt, turn.contender, length)
        })
    }

    fn switches(&mut self, extent: &Extent) -> Result<()> {
        let length = extent.switches;
        let members = ["first", "second"].map(str::to_owned);
        let single = Beats::single();
        let adjacent = Beats::adjacent();
        match self.contender {
            Contender::Default => self.row(switches::PLAIN, |turn| {
                switches::between_threads(turn.takt, length)
            }),
            Contender::Takt | Contender::Fifo => {
                if self.contender == Contender::Takt {
                    self.prepare(Some(policy::of_group(&single, &members)))?;
                    self.row("switch-in-group", |turn| {
                        switches::in_group(turn.takt, &members, length)
                    })?;
                }
                self.prepare(self.contender.policy(&adjacent))?;
                self.row("switch-to-next-beat", |turn| {
                    switches::between_beats(turn.takt, turn.contender, &adjacent, length)
                })?;
                self.prepare(self.contender.policy(&single))?;
                self.row("switch-to-ordinary", |turn| {
                    switches::to_ordinary(turn.takt, turn.contender, &single, length)
                })?;
                self.row("switch-from-ordinary", |turn| {
                    switches::from_ordinary(turn.takt, turn.contender, &single, length)
                })
            }
            _ => Ok(()),
        }
    }

    fn edges(&mut self, extent: &Extent) -> Result<()> {
        for cause in extent.causes(self.contender) {
            self.prepare(self.contender.policy(&cause.beats()))?;
            self.row(cause.case(), |turn| {
                edges::measure(turn.takt, turn.contender, *cause, extent.edges)
            })?;
        }
        Ok(())
    }

    fn calls(&mut self, extent: &Extent) -> Result<()> {
        let calls = extent.calls(self.contender);
        if calls.is_empty() {
            return Ok(());
        }
        let beats = Beats::single();
        self.prepare(self.contender.policy(&beats))?;
        for call in calls {
            self.row(calls::case(*call), |turn| {
                calls::measure(turn.takt, turn.contender, &beats, *call, extent.call)
            })?;
        }
        Ok(())
    }

    /// Not with SCHED_FIFO, which would never cut it.
    fn overrun(&mut self, extent: &Extent) -> Result<()> {
        if !matches!(self.contender, Contender::Takt | Contender::Deadline) {
            return Ok(());
        }
        let beats = Beats::slow();
        self.prepare(self.contender.policy(&beats))?;
        for (case, yields) in [("overrun-nobody", true), ("overrun-first", false)] {
            self.row(case, |turn| {
                overrun::measure(turn.takt, turn.contender, &beats, yields, extent.overrun)
            })?;
        }
        Ok(())
    }

    fn group(&mut self, extent: &Extent) -> Result<()> {
        if self.contender != Contender::Takt {
            return Ok(());
        }
        let beats = Beats::single();
        let members = ["decode", "mix", "render"].map(str::to_owned);
        self.prepare(Some(policy::of_group(&beats, &members)))?;
        self.row("group-of-three", |turn| {
            group::in_order(turn.takt, &beats, &members, Load::Rate(600), extent.group)
        })?;
        self.prepare(Some(policy::of_free_group(&beats, &members)))?;
        self.row("group-free", |turn| {
            group::by_choice(turn.takt, &beats, &members, Load::Rate(600), extent.group)
        })
    }

    fn throughput(&mut self, extent: &Extent) -> Result<()> {
        if !matches!(self.contender, Contender::Takt | Contender::Fifo) {
            return Ok(());
        }
        let beats = Beats::slow();
        self.prepare(self.contender.policy(&beats))?;
        for errand in Errand::ALL {
            self.row(errand.case(), |turn| {
                throughput::measure(turn.takt, turn.contender, &beats, errand, extent.throughput)
            })?;
        }
        Ok(())
    }

    fn cyclictest(&mut self, extent: &Extent) -> Result<()> {
        let loads = extent.cyclictest_loads(self.contender);
        if loads.is_empty() {
            return Ok(());
        }
        let beats = Beats::single();
        let takts = self.contender == Contender::Takt;
        self.prepare(takts.then(|| policy::of_second_thread(&beats, cyclictest::NAME)))?;
        for load in loads {
            self.row(format!("cyclictest-{}", load.name()), |turn| {
                let (takt, contender) = (turn.takt, turn.contender);
                cyclictest::measure(takt, contender, &beats, *load, CYCLICTEST)
            })?;
        }
        Ok(())
    }

    /// Takt follows the policy, if there is one; otherwise the kernel is unchanged.
    fn prepare(&mut self, policy: Option<String>) -> Result<()> {
        if self.told != policy {
            match &policy {
                Some(policy) => {
                    let policy = Qdisc::Takt(policy.clone());
                    self.root.attach(self.contender.name(), &policy)?;
                }
                None => self.root.detach()?,
            }
            self.told = policy;
        }
        Ok(())
    }

    fn row(
        &mut self,
        case: impl Into<String>,
        measure: impl FnOnce(&Self) -> Result<Metrics>,
    ) -> Result<()> {
        let case = case.into();
        eprintln!("beats: {}, {case}", self.contender.name());
        let metrics = measure(self)?;
        self.rows.push(Row {
            scheduler: self.contender.name().to_owned(),
            case,
            metrics,
        });
        Ok(())
    }
}
