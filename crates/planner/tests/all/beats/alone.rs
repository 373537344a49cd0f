//! The tasks that `takt check` refuses by themselves are exactly those that fit on no host.

use proptest::prelude::*;
use takt_planner::beats::{Host, demands, plan};
use takt_policy::{Beats, parse};

/// The tasks, or the codes of their errors.
fn read(text: &str) -> Result<Beats, Vec<&'static str>> {
    match parse("alone.toml", text) {
        Ok(policy) => Ok(policy.beats.expect("there is a task")),
        Err(found) => Err(found.iter().map(|diagnostic| diagnostic.code).collect()),
    }
}

/// A host with so many CPUs, and those of them that tasks may use.
fn host(beats: &Beats, cpus: u32) -> Host {
    let is_allowed = |cpu: &u32| beats.cpus.as_ref().is_none_or(|cpus| cpus.contains(cpu));
    Host {
        cpus: (0..cpus).filter(is_allowed).collect(),
        grid_ns: beats.grid_ns,
        free_ppm: beats.free_ppm,
    }
}

prop_compose! {
    /// In slots of half a millisecond.
    fn a_task()(
        period in 1..24u64,
        budget in 1..24u64,
        lead in 0..3u64,
        offset in proptest::option::of(0..24u64),
        cpus in proptest::option::of(1..4u32),
        members in 1..3u32,
    ) -> String {
        let us = |slots: u64| format!("\"{}us\"", 500 * slots);
        let mut text = format!(
            "[[task]]\nname = \"a\"\nperiod = {}\nbudget = {}\nlead = {}\n",
            us(period), us(budget), us(lead)
        );
        text += &offset.map_or(String::new(), |offset| format!("offset = {}\n", us(offset)));
        text += &cpus.map_or(String::new(), |cpus| format!("cpus = \"0-{}\"\n", cpus - 1));
        text + if members > 1 { "members = [\"x\", \"y\"]\n" } else { "" }
    }
}

proptest! {
    #[test]
    fn a_task_is_refused_if_and_only_if_no_host_has_room(
        task in a_task(),
        free in 1..90u32,
    ) {
        // A task that fits at all fits on as many CPUs as hold it in single slots.
        const MOST: u32 = 24;
        let text = format!("[beats]\nfree = 0.{free:02}\n{task}");
        let fits = |beats: &Beats, cpus: u32| plan(&host(beats, cpus), &demands(beats)).is_ok();
        match read(&text) {
            Ok(beats) => prop_assert!(fits(&beats, MOST), "{text}"),
            Err(codes) if codes == ["takt::policy::budget_above_period"] => {
                // The planner's result for the same task without others.
                let easy = text.replacen(&format!("free = 0.{free:02}"), "free = 0.01", 1);
                let Ok(mut beats) = read(&easy) else {
                    return Ok(());
                };
                beats.free_ppm = free * 10_000;
                for cpus in 1..=MOST {
                    prop_assert!(!fits(&beats, cpus), "{text} fits on {cpus}");
                }
            }
            Err(_) => {}
        }
    }
}

/// Refused tasks that are bound to CPUs fit on no host that has these CPUs.
#[test]
fn tasks_together_are_refused_only_if_their_cpus_have_no_room() {
    let task = |name: &str, period: &str, budget: &str| {
        format!("[[task]]\nname = \"{name}\"\nperiod = \"{period}\"\nbudget = \"{budget}\"\n")
    };
    let two = [task("a", "40ms", "20ms"), task("b", "40ms", "17.5ms")].concat();
    let bound =
        |free: &str, cpus: &str| format!("[beats]\nfree = {free}\ncpus = \"{cpus}\"\n{two}");
    // 75 slots of 80 are exactly what is available.
    assert!(
        read(&bound("0.0625", "3"))
            .is_ok_and(|beats| plan(&host(&beats, 4), &demands(&beats)).is_ok())
    );
    assert_eq!(
        read(&bound("0.07", "3")),
        Err(vec!["takt::policy::no_room_together"])
    );
    assert!(read(&bound("0.07", "2-3")).is_ok());
}
