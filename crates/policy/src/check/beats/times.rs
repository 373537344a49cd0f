//! A task's times against the grid and against each other.

use super::cpus;
use crate::Code;
use crate::diagnostic::Diagnostic;
use crate::findings::Findings;
use crate::read::{ReadBeats, ReadTask};
use crate::source::Span;
use crate::value::duration::format_duration;

pub(super) const WHOLE_PPM: u64 = 1_000_000;

/// A task whose period and budget could be read.
struct Times<'a> {
    name: &'a str,
    grid_ns: u64,
    period_ns: u64,
    budget_ns: u64,
    budget_span: &'a Span,
    lead: Option<(u64, &'a Span)>,
    offset: Option<(u64, &'a Span)>,
    /// Of every CPU, in millionths.
    free_ppm: u32,
    /// On how many CPUs it may have its slots in turn; `None` for as many as a host has.
    cpus_max: Option<usize>,
}

pub(super) fn check(read: &ReadBeats, task: &ReadTask, grid_ns: u64, findings: &mut Findings) {
    let offset = task.offset_ns.as_ref().map(|(ns, span)| (*ns, span));
    let (period, budget) = (&task.period_ns, &task.budget_ns);
    for (key, time) in [
        ("period", period.as_ref().map(|(ns, span)| (*ns, span))),
        ("offset", offset),
    ] {
        if let Some((time_ns, span)) = time.filter(|(ns, _)| !ns.is_multiple_of(grid_ns)) {
            findings.add(off_grid(key, time_ns, grid_ns).at(span, "not on the grid"));
        }
    }
    let (Some((period_ns, _)), Some((budget_ns, budget_span))) = (period, budget) else {
        return; // Reported.
    };
    if !period_ns.is_multiple_of(grid_ns) {
        return; // How many slots it has is not known.
    }
    let times = Times {
        name: task.shown_name(),
        grid_ns,
        period_ns: *period_ns,
        budget_ns: *budget_ns,
        budget_span,
        lead: task.lead_ns.as_ref().map(|(ns, span)| (*ns, span)),
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

fn off_grid(key: &str, time_ns: u64, grid_ns: u64) -> Diagnostic {
    let (time, grid) = (format_duration(time_ns), format_duration(grid_ns));
    let below_ns = time_ns / grid_ns * grid_ns;
    let above = format_duration(below_ns + grid_ns);
    let instead = match below_ns {
        0 if key == "period" => format!("write \"{above}\""),
        _ => format!("write \"{}\" or \"{above}\"", format_duration(below_ns)),
    };
    let problem = match time_ns < grid_ns {
        true => format!("the {key} of {time} is shorter than the grid of {grid}"),
        false => format!("the {key} of {time} is not a multiple of the grid of {grid}"),
    };
    let help = format!("{instead}, or give [beats] a grid that divides it");
    Diagnostic::error(Code::OffGrid, problem, help)
}

impl Times<'_> {
    fn slots_ns(&self, time_ns: u64) -> u64 {
        time_ns.div_ceil(self.grid_ns) * self.grid_ns
    }

    fn lead_ns(&self) -> u64 {
        self.lead.map_or(0, |(lead_ns, _)| lead_ns)
    }

    /// Budget and lead take more than the period has.
    fn above_period(&self) -> Option<Diagnostic> {
        let name = self.name;
        let period = format_duration(self.period_ns);
        let budget = format_duration(self.budget_ns);
        let help = "a budget is what the task may use in each period; lower it, or let the period be \
                    longer";
        if self.budget_ns > self.period_ns {
            let problem = format!("task `{name}` wants {budget} in every {period}");
            let error = Diagnostic::error(Code::BudgetAbovePeriod, problem, help);
            return Some(error.at(self.budget_span, "more than the period"));
        }
        if let Some((lead_ns, span)) = self.lead.filter(|(ns, _)| *ns >= self.period_ns) {
            let lead = format_duration(lead_ns);
            let error = Diagnostic::error(
                Code::BudgetAbovePeriod,
                format!("task `{name}` waits {lead} for its beat in every {period}"),
                "a lead is as long as a wake-up takes at most, such as lead = \"20us\"",
            );
            return Some(error.at(span, "not shorter than the period"));
        }
        let slots_ns = self.slots_ns(self.budget_ns) + self.slots_ns(self.lead_ns());
        (slots_ns > self.period_ns).then(|| {
            let (slots, grid) = (format_duration(slots_ns), format_duration(self.grid_ns));
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
        let (offset_ns, span) = self.offset?;
        let name = self.name;
        let first_ns = self.slots_ns(self.lead_ns());
        // The budget does fit, so this is not below the first.
        let last_ns = self.period_ns - self.slots_ns(self.budget_ns);
        let last = format_duration(last_ns);
        let (problem, help) = if offset_ns < first_ns {
            let first = format_duration(first_ns);
            (
                format!("the lead of task `{name}` begins before its period"),
                format!(
                    "the lead takes whole slots before the offset, so that is \"{first}\" at least"
                ),
            )
        } else if offset_ns > last_ns {
            let period = format_duration(self.period_ns);
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
        let slots = |time_ns: u64| time_ns.div_ceil(self.grid_ns);
        let (period, lead) = (slots(self.period_ns), slots(self.lead_ns()));
        let width = slots(self.budget_ns) + lead;
        let one_cpu = assignable(period, self.free_ppm);
        let begin = self
            .offset
            .map_or(0, |(offset_ns, _)| slots(offset_ns).saturating_sub(lead));
        // The first piece has the lead, and one slot after it.
        let in_turn = one_cpu > lead && self.fits_in_turn(width, one_cpu, period, begin);
        if width <= one_cpu || in_turn {
            return None;
        }
        let free = percent(self.free_ppm);
        let wanted = format_duration(width * self.grid_ns);
        let period_ns = format_duration(self.period_ns);
        let help = match one_cpu.saturating_sub(lead) {
            0 => "let the period be longer, the grid finer, or have [beats] keep less free"
                .to_owned(),
            budget => format!(
                "write budget = \"{}\", let the period be longer, or have [beats] keep less free",
                format_duration(budget * self.grid_ns)
            ),
        };
        let error = Diagnostic::error(
            Code::BudgetAbovePeriod,
            format!(
                "task `{}` needs {wanted} of slots in every {period_ns}, and {free} % of every \
                 CPU stays free",
                self.name
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
        let slots_ns = self.slots_ns(self.budget_ns);
        (2 * (slots_ns - self.budget_ns) > self.grid_ns).then(|| {
            let (slots, budget) = (format_duration(slots_ns), format_duration(self.budget_ns));
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
        let (lead_ns, span) = self.lead.filter(|(ns, _)| *ns > self.budget_ns)?;
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
