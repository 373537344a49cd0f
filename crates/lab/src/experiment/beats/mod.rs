//! Do threads run when they were promised, and what does that cost?
//!
//! The paper's experiment (002, HiTactix, section 3): four threads of T = 40 ms
//! and L = 8 ms beside packets that come and go and two busy ordinary threads;
//! their jitter, the cost of a switch, what delays a beat. From the bottom:
//! [`clock`] is the time all count in, [`beat`] who is to run when, [`policy`]
//! how Takt is told and [`contender`] how everybody else is, [`settings`] what
//! that needs of the machine; [`script`] is what a [`process`] of this
//! experiment plays and [`program`] that program, [`load`] what goes on beside
//! it; [`stage`] plays, and [`jitter`], [`switches`], [`edges`], [`overrun`],
//! [`group`], [`throughput`] and [`cyclictest`] are what is measured.

mod beat;
mod clock;
mod contender;
mod cyclictest;
mod edges;
mod extent;
mod group;
mod jitter;
mod load;
mod overrun;
mod policy;
mod process;
mod program;
mod script;
mod settings;
mod spans;
mod stage;
mod switches;
mod throughput;

use takt_report::Row;

use self::beat::Beats;
use self::contender::Contender;
use self::edges::Cause;
use self::extent::Extent;
use self::load::Load;
pub use self::program::play_from_stdin;
use self::settings::Unthrottled;
use self::throughput::Errand;
use super::bench::Bench;
use super::error::Result;
use super::metrics::Metrics;
use super::root::Root;
use super::setup::Qdisc;

pub fn run(bench: &Bench) -> Result<Vec<Row>> {
    let extent = Extent::of(bench.short);
    let mut rows = Vec::new();
    for contender in Contender::ALL {
        let mut turn = Turn {
            bench,
            contender,
            root: Root::new(bench.takt()),
            rows: Vec::new(),
        };
        let _unthrottled = (contender == Contender::Fifo)
            .then(Unthrottled::set)
            .transpose()?;
        turn.jitter(&extent)?;
        turn.switches(&extent)?;
        turn.edges(&extent)?;
        turn.overrun(&extent)?;
        turn.group(&extent)?;
        turn.throughput(&extent)?;
        turn.cyclictest(&extent)?;
        turn.root.detach()?;
        rows.extend(turn.rows);
    }
    throughput::compare(&mut rows, Contender::Fifo.name());
    // What is compared stands together, whoever's turn it was measured in.
    rows.sort_by_key(|row| {
        GROUPS
            .iter()
            .position(|group| row.case.starts_with(group))
            .unwrap_or(GROUPS.len())
    });
    Ok(rows)
}

/// How cases begin, in the order in which they are shown.
const GROUPS: [&str; 8] = [
    "40ms-",
    "1ms-",
    "switch-",
    "edge-",
    "overrun-",
    "group-",
    "ordinary-",
    "cyclictest-",
];

/// One contender's turn at everything it takes part in.
struct Turn<'lab> {
    bench: &'lab Bench,
    contender: Contender,
    root: Root<'lab>,
    rows: Vec<Row>,
}

impl Turn<'_> {
    fn jitter(&mut self, extent: &Extent) -> Result<()> {
        for (beats, name) in [(Beats::slow(), "40ms"), (Beats::fast(), "1ms")] {
            let points = extent.jitter(self.contender, name == "1ms");
            if points.is_empty() {
                continue;
            }
            self.prepare(self.contender.policy(&beats))?;
            for (load, length) in points {
                self.row(format!("{name}-{}", load.name()), |turn| {
                    jitter::under_load(turn.bench.takt(), turn.contender, &beats, load, length)
                })?;
            }
        }
        Ok(())
    }

    fn switches(&mut self, extent: &Extent) -> Result<()> {
        let length = extent.switches;
        let members = ["first", "second"].map(str::to_owned);
        let single = Beats::single();
        let adjacent = Beats::adjacent();
        match self.contender {
            Contender::Default => self.row("switch-threads", |turn| {
                switches::between_threads(turn.bench.takt(), length)
            }),
            Contender::Takt | Contender::Fifo => {
                if self.contender == Contender::Takt {
                    self.prepare(Some(policy::of_group(&single, &members)))?;
                    self.row("switch-in-group", |turn| {
                        switches::in_group(turn.bench.takt(), &members, length)
                    })?;
                }
                self.prepare(self.contender.policy(&adjacent))?;
                self.row("switch-to-next-beat", |turn| {
                    switches::between_beats(turn.bench.takt(), turn.contender, &adjacent, length)
                })?;
                self.prepare(self.contender.policy(&single))?;
                self.row("switch-to-ordinary", |turn| {
                    switches::to_ordinary(turn.bench.takt(), turn.contender, &single, length)
                })?;
                self.row("switch-from-ordinary", |turn| {
                    switches::from_ordinary(turn.bench.takt(), turn.contender, &single, length)
                })
            }
            _ => Ok(()),
        }
    }

    fn edges(&mut self, extent: &Extent) -> Result<()> {
        let causes = extent.causes(self.contender);
        if causes.is_empty() {
            return Ok(());
        }
        let beats = Beats::single();
        self.prepare(self.contender.policy(&beats))?;
        for cause in causes {
            self.row(cause.case(), |turn| {
                let (takt, contender) = (turn.bench.takt(), turn.contender);
                edges::measure(takt, contender, &beats, *cause, extent.edges)
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
                overrun::measure(
                    turn.bench.takt(),
                    turn.contender,
                    &beats,
                    yields,
                    extent.overrun,
                )
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
            group::measure(
                turn.bench.takt(),
                &beats,
                &members,
                Load::Rate(600),
                extent.group,
            )
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
                throughput::measure(
                    turn.bench.takt(),
                    turn.contender,
                    &beats,
                    errand,
                    extent.throughput,
                )
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
                let (takt, contender) = (turn.bench.takt(), turn.contender);
                cyclictest::measure(takt, contender, &beats, *load, extent.cyclictest)
            })?;
        }
        Ok(())
    }

    /// Takt follows the policy, if there is one; the kernel is by itself if not.
    fn prepare(&mut self, policy: Option<String>) -> Result<()> {
        match policy {
            Some(policy) => self
                .root
                .attach(self.contender.name(), &Qdisc::Takt(policy)),
            None => self.root.detach(),
        }
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
