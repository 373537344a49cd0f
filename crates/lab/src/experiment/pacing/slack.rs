//! What is saved where the timer may be late, and what that costs in spacing: a hundred classes,
//! whose packets come at every distance.

use takt_report::Row;

use super::{Case, Length, measure};
use crate::experiment::error::Result;
use crate::experiment::root::Root;
use crate::experiment::scheduler::Scheduler;
use crate::experiment::setup::{Qdisc, Setup, setup};
use crate::experiment::shape::Shape;

const CLASSES: usize = 100;
const RATE_BPS: u64 = 3_000_000;
const LENGTH: Length = Length::ms(4_000, 300);
const SLACKS: [(&str, u64); 6] = [
    ("slack-0us", 0),
    ("slack-5us", 5),
    ("slack-10us", 10),
    ("slack-20us", 20),
    ("slack-50us", 50),
    ("slack-100us", 100),
];

/// A row of each slack for a scheduler that has one.
pub fn run(scheduler: Scheduler, root: &mut Root<'_>, short: bool) -> Result<Vec<Row>> {
    let Some(length) = LENGTH.of(short) else {
        return Ok(Vec::new());
    };
    let shape = Shape::udp([RATE_BPS; CLASSES]);
    let mut rows = Vec::new();
    for (name, slack_us) in SLACKS {
        let Some(setup) = with_slack(scheduler, &shape, slack_us) else {
            continue;
        };
        let case = Case {
            name: name.to_owned(),
            shape: shape.clone(),
            mtu_bytes: 1500,
            backlog: 6,
            length: LENGTH,
            class_rows: &[],
        };
        eprintln!("pacing: {}, {name}", scheduler.name());
        root.attach(scheduler.name(), &setup.qdisc)?;
        rows.extend(measure(&case, scheduler, &setup, length)?);
    }
    Ok(rows)
}

/// `None`: it has no such setting.
fn with_slack(scheduler: Scheduler, shape: &Shape, slack_us: u64) -> Option<Setup> {
    let Setup { qdisc, sockets } = setup(scheduler, shape)?;
    let qdisc = match (scheduler, qdisc) {
        (Scheduler::Takt | Scheduler::TaktDeparture, Qdisc::Takt(policy)) => {
            let slack = format!("]\nslack = \"{slack_us}us\"\n");
            Qdisc::Takt(policy.replacen("]\n", &slack, 1))
        }
        (Scheduler::Fq, Qdisc::Tc(lines)) => {
            // The last one counts.
            let slack = format!("timer_slack {}", slack_us * 1000);
            Qdisc::Tc(lines.iter().map(|line| format!("{line} {slack}")).collect())
        }
        _ => return None,
    };
    Some(Setup { qdisc, sockets })
}
