//! Slots for the tasks of a roster: the policy's first, then those that joined at run time, root's
//! before users' and older ones before younger. Decides, and changes nothing.

use takt_planner::beats::{
    Demand, Host, Placement, Refusal, Timetable, common_frame_ns, demands, plan,
};

use super::{record::BeatsRecord, roster::Roster};

/// What became of tasks that had joined, and of the table.
pub(super) struct Settled {
    /// For the tasks that are left, in their order.
    pub timetable: Timetable,
    /// Those that have other slots now, by name.
    pub moved: Vec<String>,
    /// Those that have none any more, by name, and why.
    pub away: Vec<(String, Refusal)>,
}

/// Slots for one who comes, beside those that have theirs. A user's thread moves nothing; root's
/// may have the policy's tasks in another order.
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

/// Slots for a policy, beside those who joined before it. They stay where they are if that is
/// possible, are moved if they have to be, and sent away where there is no room: those of least
/// precedence first. Refused is only what there is no room for without them.
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
    if !roster.ad_hoc.is_empty()
        && let Ok(timetable) = around(host, roster, before, Stay::All)
    {
        return Ok(undisturbed(timetable));
    }
    let alone = roster.without_joined();
    let planned = match around(host, &alone, before, Stay::All) {
        // What is new is to blame, unless all can be had in another order.
        Err(first @ Refusal::NoRoom { .. }) => {
            around(host, &alone, before, Stay::Joined).map_err(|_| first)
        }
        Err(_) => around(host, &alone, before, Stay::Joined),
        timetable => timetable,
    }?;
    if roster.ad_hoc.is_empty() {
        return Ok(undisturbed(planned));
    }
    Joined::beside(host, roster, before, planned).settle()
}

/// What keeps its slots, of that which is to be as it was.
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

/// Users' tasks that are to be placed go where their periods go with those of all others to come.
fn confine(host: &Host, roster: &Roster, demands: &mut [Demand], fixed: &[(u64, &Placement)]) {
    for demand in demands {
        if demand.standing.is_none() && roster.is_users(&demand.name) {
            demand.cpus = Some(cpus_for(host, demand.period_ns, fixed));
        }
    }
}

fn cpus_for(host: &Host, period_ns: u64, fixed: &[(u64, &Placement)]) -> Vec<u32> {
    let frames = common_frames(host, fixed);
    let goes = frames
        .into_iter()
        .filter(|(_, frame_ns)| frame_ns.is_multiple_of(period_ns));
    goes.map(|(cpu, _)| cpu).collect()
}

/// The frame of each CPU that users' periods there divide, beside what only root can change:
/// periods, and where they are.
pub(crate) fn common_frames(host: &Host, fixed: &[(u64, &Placement)]) -> Vec<(u32, u64)> {
    let frame = |cpu: u32| {
        let here = fixed
            .iter()
            .filter(|(_, placement)| placement.pieces.iter().any(|piece| piece.cpu == cpu));
        common_frame_ns(host.grid_ns, here.map(|(period_ns, _)| *period_ns))
    };
    host.cpus.iter().map(|&cpu| (cpu, frame(cpu))).collect()
}

/// Tasks that joined, as they find slots beside a policy's tasks that have theirs.
struct Joined<'a> {
    host: &'a Host,
    roster: &'a Roster,
    before: Option<&'a BeatsRecord>,
    /// Of all tasks of the roster.
    demands: Vec<Demand>,
    /// By the task's place in the roster: what has its slots.
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
            .map(|task| match roster.ad_hoc.contains_key(&task.name) {
                true => None,
                false => placements.next(),
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
        // In the order of the roster, all of them where they are by now.
        let (_, timetable) = self.lay_out(None, &[])?;
        self.settled.timetable = timetable;
        Ok(self.settled)
    }

    /// Where those are who can stay, all at once, by their places in the roster.
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

    /// Where it is; else where it takes nothing from those who may stay; else where there is room.
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

    /// What has its slots, these others where they stood, and one where there is room: their places
    /// in the roster, and the table.
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

    /// What only root can change, as far as it has its slots.
    fn fixed(&self) -> Vec<(u64, &Placement)> {
        let tasks = self.demands.iter().zip(&self.placed);
        tasks
            .filter(|(demand, _)| !self.roster.is_users(&demand.name))
            .filter_map(|(demand, placed)| Some((demand.period_ns, placed.as_ref()?)))
            .collect()
    }
}

#[cfg(test)]
mod tests;
