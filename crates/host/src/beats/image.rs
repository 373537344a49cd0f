//! A timetable as the scheduler reads it: tables, tasks, members and rules.

use takt_algo::{
    sys::{
        TAKT_OVERRUN_DEMOTE, TAKT_OVERRUN_SIGNAL, TAKT_OVERRUN_STOP_GROUP, TAKT_OVERRUN_WAIT,
        TAKT_RULE_CGROUP, TAKT_RULE_COMMAND, TAKT_RULE_LEADER, TAKT_RULE_THREAD, TAKT_RULE_UNIT,
        takt_exact, takt_member, takt_member_rule, takt_slot, takt_table, takt_task_params,
        takt_turns_params,
    },
    zeroed_box,
};
use takt_planner::beats::{CpuTable, Placement, Timetable};
use takt_policy::{Beats, ExactTime, Handoff, Overrun, Task, ThreadMatch};

use super::ids::TaskIds;
use crate::bpf::names::{fnv1a, padded};

/// What user space writes before a commit.
pub(crate) struct Image {
    /// By CPU; CPUs that are missing have no slots.
    pub tables: Vec<(u32, Box<takt_table>)>,
    pub params: Vec<(u32, takt_task_params)>,
    pub members: Vec<(u32, takt_member)>,
    pub rules: Vec<(u32, takt_member_rule)>,
}

impl Image {
    /// On a clock that is so far ahead of CLOCK_MONOTONIC.
    pub fn new(beats: &Beats, ahead_ns: u64, timetable: &Timetable, ids: &TaskIds) -> Self {
        let mut image = Self {
            tables: Vec::new(),
            params: Vec::new(),
            members: Vec::new(),
            rules: Vec::new(),
        };
        for (task, placement) in beats.tasks.iter().zip(&timetable.placements) {
            let Some(numbers) = ids.0.get(&task.name) else {
                continue;
            };
            let mut params = task_params(task, placement, numbers.first_member);
            params.turns.period.ahead_ns = ahead_ns;
            image.params.push((numbers.id, params));
            for (ordinal, member) in (0..).zip(&task.members) {
                let at = numbers.first_member + ordinal;
                image.members.push((
                    at,
                    takt_member {
                        tid: 0,
                        task: numbers.id,
                        ordinal,
                        expected: 1,
                    },
                ));
                image.rules.push((at, rule(&member.matches)));
            }
        }
        for table in &timetable.tables {
            let mut slots = slots(table, beats, ids);
            slots.frame.ahead_ns = ahead_ns;
            image.tables.push((table.cpu, slots));
        }
        image
    }
}

fn task_params(task: &Task, placement: &Placement, first_member: u32) -> takt_task_params {
    let pieces = &placement.pieces;
    takt_task_params {
        turns: takt_turns_params {
            period: as_c(task.period_ns),
            budget_ns: task.budget_ns,
            member_count: task.members.len() as u32,
            is_free: (task.handoff == Handoff::Free).into(),
        },
        home_cpu: pieces.first().map_or(0, |piece| piece.cpu),
        first_member,
        overrun: match task.overrun {
            Overrun::Demote => TAKT_OVERRUN_DEMOTE,
            Overrun::Signal => TAKT_OVERRUN_SIGNAL,
            Overrun::StopGroup => TAKT_OVERRUN_STOP_GROUP,
            Overrun::Wait => TAKT_OVERRUN_WAIT,
        },
        // Within a period, so it fits.
        end_ns: pieces.iter().map(|piece| piece.end_ns).max().unwrap_or(0) as u32,
        lead_max_ns: if task.lead_auto {
            task.lead_ns as u32
        } else {
            0
        },
        pad: 0,
    }
}

fn slots(table: &CpuTable, beats: &Beats, ids: &TaskIds) -> Box<takt_table> {
    let mut image = zeroed_box::<takt_table>();
    image.frame = as_c(table.frame_ns);
    // At most TAKT_FRAME_MAX_NS, which fits.
    image.frame_ns = table.frame_ns.whole_ns() as u32;
    for (entry, slot) in image.slots.iter_mut().zip(&table.slots) {
        let task = &beats.tasks[slot.demand];
        // Only a task's first piece has a lead.
        let lead_ns = if slot.beat_ns > slot.begin_ns {
            task.lead_ns as u32
        } else {
            0
        };
        *entry = takt_slot {
            release_ns: slot.beat_ns - lead_ns,
            beat_ns: slot.beat_ns,
            end_ns: slot.end_ns,
            task: ids.0.get(&task.name).map_or(u32::MAX, |numbers| numbers.id),
        };
        image.slot_count += 1;
    }
    image
}

fn as_c(time: ExactTime) -> takt_exact {
    takt_exact::new(time.numerator(), time.denominator())
}

/// No rule finds a member without conditions: its thread has to ask.
fn rule(matches: &ThreadMatch) -> takt_member_rule {
    let mut rule = takt_member_rule::default();
    if *matches == ThreadMatch::default() {
        return rule;
    }
    if let Some(thread) = &matches.thread {
        rule.asks |= TAKT_RULE_THREAD;
        rule.thread = padded(thread);
    } else {
        rule.asks |= TAKT_RULE_LEADER;
    }
    if let Some(command) = &matches.command {
        rule.asks |= TAKT_RULE_COMMAND;
        rule.command = padded(command);
    }
    if let Some(cgroup) = &matches.cgroup {
        rule.asks |= TAKT_RULE_CGROUP;
        rule.cgroup = fnv1a(cgroup);
    }
    if let Some(unit) = &matches.unit {
        rule.asks |= TAKT_RULE_UNIT;
        rule.unit = fnv1a(unit);
    }
    rule
}
