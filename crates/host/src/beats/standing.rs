//! Slots for the tasks of a roster: the policy's first, then the ad hoc tasks, root's before
//! users' and older ones before younger. Decides, and changes nothing.

use takt_planner::beats::{
    Demand, Host, Placement, Refusal, Timetable, common_frame, demands, plan,
};
use takt_policy::ExactTime;

use super::{record::BeatsRecord, roster::Roster};

/// The new table, and what happened to the ad hoc tasks.
pub(super) struct Settled {
    /// For the remaining tasks, in their order.
    pub timetable: Timetable,
    /// Tasks that have other slots now, by name.
    pub moved: Vec<String>,
    /// Tasks that have no slots any more, by name, and why.
    pub away: Vec<(String, Refusal)>,
}

/// Slots for a new ad hoc task, beside the existing ones. A user's task moves no other task;
/// root's may reorder the policy's tasks.
pub(super) fn beside(
    host: &Host,
    roster: &Roster,
    before: Option<&BeatsRecord>,
    comes: &str,
) -> Result<Timetable, Refusal> {
    match around(host, roster, before, Stay::All) {
        Err(refusal) if roster.is_users(comes) => Err(refusal),
        Err(refusal @ Refusal::NoRoom { .. }) => {
            around(host, roster, before, Stay::Joined).map_err(|_| refusal)
        }
        Err(_) => around(host, roster, before, Stay::Joined),
        timetable => timetable,
    }
}

/// Slots for a policy, beside the ad hoc tasks before it. These keep their slots if possible,
/// are moved if necessary, and lose their reservations if there is no room, those of least
/// precedence first. The policy is refused only if it has no room without them.
pub(super) fn settle(
    host: &Host,
    roster: &Roster,
    before: Option<&BeatsRecord>,
) -> Result<Settled, Refusal> {
    let undisturbed = |timetable| Settled {
        timetable,
        moved: Vec::new(),
        away: Vec::new(),
    };
    let alone = roster.without_joined();
    let planned = match around(host, &alone, before, Stay::All) {
        // The new task is to blame, unless all fit in another order.
        Err(first @ Refusal::NoRoom { .. }) => {
            around(host, &alone, before, Stay::Joined).map_err(|_| first)
        }
        Err(_) => around(host, &alone, before, Stay::Joined),
        timetable => timetable,
    }?;
    if roster.ad_hoc.is_empty() {
        return Ok(undisturbed(planned));
    }
    if let Ok(timetable) = around(host, roster, before, Stay::All)
        && !splits_more(roster, &timetable, &planned)
    {
        return Ok(undisturbed(timetable));
    }
    Joined::beside(host, roster, before, planned).settle()
}

/// Whether a task of the policy has more pieces in a table with ad hoc tasks than in one without.
fn splits_more(roster: &Roster, beside: &Timetable, alone: &Timetable) -> bool {
    let declared = { roster.beats.tasks.iter() }
        .zip(&beside.placements)
        .filter(|(task, _)| !roster.ad_hoc.contains_key(&task.name));
    declared
        .zip(&alone.placements)
        .any(|((_, beside), alone)| beside.pieces.len() > alone.pieces.len())
}

/// The slots of tasks that are to stay as they were.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stay {
    All,
    Joined,
}

fn around(
    host: &Host,
    roster: &Roster,
    before: Option<&BeatsRecord>,
    stay: Stay,
) -> Result<Timetable, Refusal> {
    let mut demands = demands(&roster.beats);
    for (demand, task) in demands.iter_mut().zip(&roster.beats.tasks) {
        let Some(before) = before else {
            continue;
        };
        let same_grid = before.roster.beats.grid_ns == roster.beats.grid_ns;
        let is_same = |old: &takt_policy::Task| {
            takt_policy::Task {
                line: task.line,
                ..old.clone()
            } == *task
        };
        let stays = before.roster.beats.tasks.iter().any(is_same) && same_grid;
        if (stay == Stay::All && stays) || roster.ad_hoc.contains_key(&task.name) {
            demand.standing = before.placement(&task.name).cloned();
        }
    }
    if let Some(before) = before {
        confine(host, roster, &mut demands, &before.fixed());
    }
    plan(host, &demands)
}

/// Users' tasks go to CPUs where their periods fit those of all other and later tasks.
fn confine(
    host: &Host,
    roster: &Roster,
    demands: &mut [Demand],
    fixed: &[(ExactTime, &Placement)],
) {
    for demand in demands {
        if demand.standing.is_none() && roster.is_users(&demand.name) {
            demand.cpus = Some(cpus_for(host, demand.period_ns, fixed));
        }
    }
}

fn cpus_for(host: &Host, period: ExactTime, fixed: &[(ExactTime, &Placement)]) -> Vec<u32> {
    let frames = common_frames(host, fixed);
    let goes = frames
        .into_iter()
        .filter(|(_, frame)| frame.in_slots(period).is_some());
    goes.map(|(cpu, _)| cpu).collect()
}

/// The frame of each CPU that users' periods must divide, from what only root can change:
/// periods and CPUs.
pub(crate) fn common_frames(
    host: &Host,
    fixed: &[(ExactTime, &Placement)],
) -> Vec<(u32, ExactTime)> {
    let frame = |cpu: u32| {
        let here = fixed
            .iter()
            .filter(|(_, placement)| placement.pieces.iter().any(|piece| piece.cpu == cpu));
        common_frame(host.grid_ns, here.map(|(period, _)| *period))
    };
    host.cpus.iter().map(|&cpu| (cpu, frame(cpu))).collect()
}

/// Ad hoc tasks, as they find slots beside the policy's tasks.
struct Joined<'a> {
    host: &'a Host,
    roster: &'a Roster,
    before: Option<&'a BeatsRecord>,
    /// Of all tasks of the roster.
    demands: Vec<Demand>,
    /// The slots found so far, by the task's index in the roster.
    placed: Vec<Option<Placement>>,
    settled: Settled,
}

impl<'a> Joined<'a> {
    fn beside(
        host: &'a Host,
        roster: &'a Roster,
        before: Option<&'a BeatsRecord>,
        planned: Timetable,
    ) -> Self {
        let mut placements = planned.placements.iter().cloned();
        let tasks = roster.beats.tasks.iter();
        let placed = tasks
            .map(|task| {
                if roster.ad_hoc.contains_key(&task.name) {
                    None
                } else {
                    placements.next()
                }
            })
            .collect();
        Self {
            host,
            roster,
            before,
            demands: demands(&roster.beats),
            placed,
            settled: Settled {
                timetable: planned,
                moved: Vec::new(),
                away: Vec::new(),
            },
        }
    }

    fn settle(mut self) -> Result<Settled, Refusal> {
        let mut order = self.roster.joined_in_precedence();
        let staying = self.staying(&order);
        order.reverse();
        while let Some(task) = order.pop() {
            let later: Vec<(usize, Placement)> = order
                .iter()
                .rev()
                .filter_map(|&later| Some((later, staying[later].clone()?)))
                .collect();
            self.place(task, staying[task].as_ref(), &later);
        }
        // The slots of all tasks, in the order of the roster.
        let (_, timetable) = self.lay_out(None, &[])?;
        self.settled.timetable = timetable;
        Ok(self.settled)
    }

    /// Slots of the tasks that can keep them, all at once, by their indices in the roster.
    fn staying(&self, order: &[usize]) -> Vec<Option<Placement>> {
        let mut staying = vec![None; self.demands.len()];
        let mut so_far = Vec::new();
        for &task in order {
            let Some(stood) = self.stood(task) else {
                continue;
            };
            so_far.push((task, stood.clone()));
            match self.lay_out(None, &so_far) {
                Ok(_) => staying[task] = Some(stood),
                Err(_) => _ = so_far.pop(),
            }
        }
        staying
    }

    fn stood(&self, task: usize) -> Option<Placement> {
        self.before?.placement(&self.demands[task].name).cloned()
    }

    /// The old slots; else slots that take nothing from the tasks that may stay; else any free
    /// slots.
    fn place(&mut self, task: usize, stays: Option<&Placement>, later: &[(usize, Placement)]) {
        if let Some(stays) = stays
            && self.lay_out(None, &[(task, stays.clone())]).is_ok()
        {
            self.placed[task] = Some(stays.clone());
            return;
        }
        let name = self.demands[task].name.clone();
        let elsewhere = self
            .place_of(task, later)
            .or_else(|_| self.place_of(task, &[]));
        match elsewhere {
            Ok(placement) => {
                self.placed[task] = Some(placement);
                self.settled.moved.push(name);
            }
            Err(refusal) => self.settled.away.push((name, refusal)),
        }
    }

    fn place_of(&self, task: usize, later: &[(usize, Placement)]) -> Result<Placement, Refusal> {
        let (tasks, mut timetable) = self.lay_out(Some(task), later)?;
        let at = tasks.iter().position(|other| *other == task);
        Ok(timetable.placements.swap_remove(at.unwrap_or_default()))
    }

    /// The tasks with slots, these others at their old slots, and one where there is room:
    /// their indices in the roster, and the table.
    fn lay_out(
        &self,
        free: Option<usize>,
        standing: &[(usize, Placement)],
    ) -> Result<(Vec<usize>, Timetable), Refusal> {
        let place_of = |task: usize| {
            let stands = standing.iter().find(|(other, _)| *other == task);
            let stands = stands.map(|(_, placement)| placement);
            stands.or(self.placed[task].as_ref()).cloned()
        };
        let (mut tasks, mut demands) = (Vec::new(), Vec::new());
        for (task, demand) in self.demands.iter().enumerate() {
            let standing = place_of(task);
            if standing.is_some() || free == Some(task) {
                tasks.push(task);
                demands.push(Demand {
                    standing,
                    ..demand.clone()
                });
            }
        }
        confine(self.host, self.roster, &mut demands, &self.fixed());
        let timetable = plan(self.host, &demands)?;
        Ok((tasks, timetable))
    }

    /// The tasks that only root can change, as far as they have slots.
    fn fixed(&self) -> Vec<(ExactTime, &Placement)> {
        let tasks = self.demands.iter().zip(&self.placed);
        tasks
            .filter(|(demand, _)| !self.roster.is_users(&demand.name))
            .filter_map(|(demand, placed)| Some((demand.period_ns, placed.as_ref()?)))
            .collect()
    }
}

#[cfg(test)]
mod tests;
