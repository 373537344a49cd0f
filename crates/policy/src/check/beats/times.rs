//! A task's times against the grid and against each other.

use super::cpus;
use crate::diagnostic::Diagnostic;
use crate::findings::Findings;
use crate::read::{GRID_MIN_NS, ReadBeats, ReadTask};
use crate::source::Span;
use crate::value::duration::format_duration;
use crate::{Code, ExactTime};

pub(super) const WHOLE_PPM: u64 = 1_000_000;

/// A task whose period and budget could be read.
struct Times<'a> {
    name: &'a str,
    grid: ExactTime,
    period: ExactTime,
    budget_ns: u64,
    budget_span: &'a Span,
    lead: Option<(u64, &'a Span)>,
    lead_auto: bool,
    offset: Option<(ExactTime, &'a Span)>,
    /// Of every CPU, in millionths.
    free_ppm: u32,
    /// On how many CPUs it may have its slots in turn; `None` for as many as a host has.
    cpus_max: Option<usize>,
}

pub(super) fn check(read: &ReadBeats, task: &ReadTask, grid: ExactTime, findings: &mut Findings) {
    let offset = task.offset_ns.as_ref().map(|(ns, span)| (*ns, span));
    let (period, budget) = (&task.period_ns, &task.budget_ns);
    for (key, time) in [
        ("period", period.as_ref().map(|(ns, span)| (*ns, span))),
        ("offset", offset),
    ] {
        if let Some((time, span)) = time.filter(|(time, _)| time.in_slots(grid).is_none()) {
            findings.add(off_grid(key, time, grid).at(span, "not on the grid"));
        }
    }
    let (Some((period, _)), Some((budget_ns, budget_span))) = (period, budget) else {
        return; // Reported.
    };
    if period.in_slots(grid).is_none() {
        return; // How many slots it has is not known.
    }
    let times = Times {
        name: task.shown_name(),
        grid,
        period: *period,
        budget_ns: *budget_ns,
        budget_span,
        lead: task.lead_ns.as_ref().map(|(ns, span)| (*ns, span)),
        lead_auto: task.lead_auto,
        offset,
        free_ppm: read.free_ppm,
        // A group stays on one CPU.
        cpus_max: match task.threads() {
            1 => cpus::of_task(read, task).map(|cpus| cpus.len()),
            _ => Some(1),
        },
    };
    // For a task that is impossible, one reason is enough.
    let error = times
        .above_period()
        .or_else(|| times.beside_period())
        .or_else(|| times.beyond_free());
    let doubts = [times.rounded(), times.mostly_lead()];
    let found = match error {
        Some(error) => vec![error],
        None => doubts.into_iter().flatten().collect(),
    };
    for diagnostic in found {
        findings.add(diagnostic);
    }
}

fn off_grid(key: &str, time: ExactTime, grid: ExactTime) -> Diagnostic {
    let slots = grid.covering(time);
    let (below, above) = (grid.times(slots - 1), grid.times(slots));
    let instead = match slots {
        1 if key == "period" => format!("write \"{above}\""),
        _ => format!("write \"{below}\" or \"{above}\""),
    };
    let problem = if time < grid {
        format!("the {key} of {time} is shorter than the grid of {grid}")
    } else {
        format!("the {key} of {time} is not a multiple of the grid of {grid}")
    };
    let such = if time.is_fraction() {
        format!(", such as grid = \"{}\"", dividing(time, grid))
    } else {
        String::new()
    };
    let help = format!("{instead}, or give [beats] a grid that divides it{such}");
    Diagnostic::error(Code::OffGrid, problem, help)
}

/// A grid that divides this time: one that divides the other grid as well, if that is not too fine.
fn dividing(time: ExactTime, grid: ExactTime) -> ExactTime {
    let common = time
        .common_part(grid)
        .filter(|common| *common >= GRID_MIN_NS.into());
    let part = || {
        let parts = grid.covering(time).max(1);
        let numerator = u128::from(time.numerator());
        ExactTime::new(
            numerator,
            u128::from(time.denominator()) * u128::from(parts),
        )
    };
    common.or_else(part).unwrap_or(time)
}

impl Times<'_> {
    /// The slots that it takes to hold this time.
    fn whole(&self, time_ns: u64) -> ExactTime {
        self.grid.times(self.grid.covering(time_ns))
    }

    fn lead_ns(&self) -> u64 {
        self.lead.map_or(0, |(lead_ns, _)| lead_ns)
    }

    /// Budget and lead take more than the period has.
    fn above_period(&self) -> Option<Diagnostic> {
        let name = self.name;
        let period = self.period;
        let budget = format_duration(self.budget_ns);
        let help = "a budget is what the task may use in each period; lower it, or let the period be \
                    longer";
        if ExactTime::from(self.budget_ns) > period {
            let problem = format!("task `{name}` wants {budget} in every {period}");
            let error = Diagnostic::error(Code::BudgetAbovePeriod, problem, help);
            return Some(error.at(self.budget_span, "more than the period"));
        }
        if let Some((lead_ns, span)) =
            { self.lead }.filter(|(ns, _)| ExactTime::from(*ns) >= period)
        {
            let lead = format_duration(lead_ns);
            let error = Diagnostic::error(
                Code::BudgetAbovePeriod,
                format!("task `{name}` waits {lead} for its beat in every {period}"),
                "a lead is as long as a wake-up takes at most, such as lead = \"20us\"",
            );
            return Some(error.at(span, "not shorter than the period"));
        }
        let grid = self.grid;
        let slots = grid.covering(self.budget_ns) + grid.covering(self.lead_ns());
        let slots = grid.times(slots);
        (slots > period).then(|| {
            Diagnostic::error(
                Code::BudgetAbovePeriod,
                format!("task `{name}` needs {slots} of slots of {grid} in every {period}"),
                "budget and lead take whole slots each; lower them, make the grid finer, or the period \
                 longer",
            )
            .at(self.budget_span, "with its lead")
        })
    }

    /// The slot does not lie within the period.
    fn beside_period(&self) -> Option<Diagnostic> {
        let (offset, span) = self.offset?;
        let (name, period) = (self.name, self.period);
        let first = self.whole(self.lead_ns());
        // The budget does fit, so this is not below the first.
        let slots = period.in_slots(self.grid)?;
        let last = slots - self.grid.covering(self.budget_ns);
        let last = self.grid.times(last);
        let (problem, help) = if offset < first {
            (
                format!("the lead of task `{name}` begins before its period"),
                format!(
                    "the lead takes whole slots before the offset, so that is \"{first}\" at least"
                ),
            )
        } else if offset > last {
            (
                format!("the budget of task `{name}` ends after its period of {period}"),
                format!("it begins at the offset, so that is \"{last}\" at most"),
            )
        } else {
            return None;
        };
        Some(Diagnostic::error(Code::OffsetMisfit, problem, help).at(span, ""))
    }

    /// Budget and lead take time that is to stay free, of one CPU or of several in turn.
    fn beyond_free(&self) -> Option<Diagnostic> {
        let grid = self.grid;
        let (period, lead) = (grid.covering(self.period), grid.covering(self.lead_ns()));
        let width = grid.covering(self.budget_ns) + lead;
        let one_cpu = assignable(period, self.free_ppm);
        let begin = self
            .offset
            .map_or(0, |(offset, _)| grid.covering(offset).saturating_sub(lead));
        // The first piece has the lead, and one slot after it.
        let in_turn = one_cpu > lead && self.fits_in_turn(width, one_cpu, period, begin);
        if width <= one_cpu || in_turn {
            return None;
        }
        let free = percent(self.free_ppm);
        let wanted = grid.times(width);
        let help = match one_cpu.saturating_sub(lead) {
            0 => "let the period be longer, the grid finer, or have [beats] keep less free"
                .to_owned(),
            budget => format!(
                "write budget = \"{}\", let the period be longer, or have [beats] keep less free",
                format_duration(grid.times(budget).whole_ns())
            ),
        };
        let error = Diagnostic::error(
            Code::BudgetAbovePeriod,
            format!(
                "task `{}` needs {wanted} of slots in every {}, and {free} % of every CPU stays \
                 free",
                self.name, self.period
            ),
            help,
        );
        Some(error.at(self.budget_span, "more than a CPU has for it"))
    }

    /// On several CPUs one after the other, with a free slot between two of them, from the last of
    /// a period to the first of the next as well.
    fn fits_in_turn(&self, width: u64, one_cpu: u64, period: u64, begin: u64) -> bool {
        let cpus = width.div_ceil(one_cpu);
        self.cpus_max.is_none_or(|most| cpus <= most as u64)
            && width + cpus <= period
            && begin + width + cpus - 1 <= period
    }

    fn rounded(&self) -> Option<Diagnostic> {
        let slots = format_duration(self.whole(self.budget_ns).whole_ns());
        // Twice the budget that uses half of the last slot.
        let half = self.grid.times(2 * self.grid.covering(self.budget_ns) - 1);
        (ExactTime::from(2 * self.budget_ns) < half).then(|| {
            let budget = format_duration(self.budget_ns);
            Diagnostic::warning(
                Code::RoundedBudget,
                format!(
                    "task `{}` keeps {slots} for a budget of {budget}",
                    self.name
                ),
                format!(
                    "write \"{slots}\", which costs nothing, or make the grid of [beats] finer"
                ),
            )
            .at(self.budget_span, "less than half of its last slot")
        })
    }

    fn mostly_lead(&self) -> Option<Diagnostic> {
        // One that calibrates itself is mostly shorter.
        let is_long = |ns: u64| ns > self.budget_ns && !self.lead_auto;
        let (lead_ns, span) = self.lead.filter(|(ns, _)| is_long(*ns))?;
        let (lead, budget) = (format_duration(lead_ns), format_duration(self.budget_ns));
        let warning = Diagnostic::warning(
            Code::LongLead,
            format!(
                "task `{}` waits {lead} on its CPU for a budget of {budget}",
                self.name
            ),
            "a lead is as long as a wake-up takes at most, such as lead = \"20us\"",
        );
        Some(warning.at(span, "longer than the budget"))
    }
}

/// Of so many slots, those that are not kept free.
pub(super) fn assignable(slots: u64, free_ppm: u32) -> u64 {
    slots * (WHOLE_PPM - u64::from(free_ppm)) / WHOLE_PPM
}

/// Such as 6.25.
pub(super) fn percent(ppm: u32) -> String {
    let part = format!("{}.{:04}", ppm / 10_000, ppm % 10_000);
    part.trim_end_matches('0').trim_end_matches('.').to_owned()
}
