//! The experiment's threads as a policy. All times are whole microseconds.

use std::fmt::Write;

use super::beat::{Beat, Beats, US};
use super::clock::Rhythm;

/// A task for each thread, found by the thread's name.
pub fn of_threads(beats: &Beats, with_lead: bool) -> String {
    let mut text = grid(beats);
    for beat in &beats.threads {
        text += &task(beat);
        if with_lead {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "lead = \"{}us\"", beats.lead_ns / US);
        }
    }
    text
}

/// The policy with the packets of devices processed where the kernel does so by default: in the
/// softirq of an interrupt.
pub fn without_network_threads(policy: &str) -> String {
    policy.replacen("[beats]\n", "[beats]\nthreaded_napi = false\n", 1)
}

/// One task for all threads: they hand over in their order, within the first one's budget.
pub fn of_group(beats: &Beats, members: &[String]) -> String {
    let mut text = grid(beats);
    for beat in beats.threads.iter().take(1) {
        let _ = writeln!(text, "{}members = {members:?}", task(beat));
    }
    text
}

/// The same, whose members choose who goes next.
pub fn of_free_group(beats: &Beats, members: &[String]) -> String {
    of_group(beats, members) + "handoff = \"free\"\n"
}

/// A program of two threads of its own name, of which the second matters: it gets the first
/// beat's slots. The first thread, with which the process began, has a task so that it does not
/// take that reservation; it sleeps most of the time and does not need its slots.
pub fn of_second_thread(beats: &Beats, program: &str) -> String {
    let mut text = grid(beats);
    for beat in beats.threads.iter().take(1) {
        let period_ns = beat.rhythm.period_ns;
        let first = Beat {
            name: format!("{program}-first"),
            rhythm: Rhythm {
                period_ns,
                phase_ns: period_ns / 2,
            },
            budget_ns: beats.grid_ns,
        };
        let _ = writeln!(text, "{}match = {{ command = {program:?} }}", task(&first));
        let second = Beat {
            name: format!("{program}-second"),
            ..beat.clone()
        };
        let _ = writeln!(text, "{}match = {{ thread = {program:?} }}", task(&second));
    }
    text
}

fn grid(beats: &Beats) -> String {
    format!("[beats]\ngrid = \"{}us\"\n", beats.grid_ns / US)
}

fn task(beat: &Beat) -> String {
    format!(
        "\n[[task]]\nname = \"{}\"\nperiod = \"{}us\"\nbudget = \"{}us\"\noffset = \"{}us\"\n",
        beat.name,
        beat.rhythm.period_ns / US,
        beat.budget_ns / US,
        beat.rhythm.phase_ns / US
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_a_task() {
        assert_eq!(
            of_threads(&Beats::single(), true),
            "[beats]\ngrid = \"20us\"\n\n[[task]]\nname = \"beat-0\"\nperiod = \"1000us\"\n\
             budget = \"200us\"\noffset = \"40us\"\nlead = \"20us\"\n"
        );
    }

    #[test]
    fn a_policy_may_leave_devices_alone() {
        let policy = without_network_threads(&of_threads(&Beats::single(), false));
        assert!(policy.starts_with("[beats]\nthreaded_napi = false\ngrid = "));
    }

    #[test]
    fn a_group_is_one_task() {
        let members = ["first", "second"].map(str::to_owned);
        let policy = of_group(&Beats::fast(), &members);
        assert_eq!(policy.matches("[[task]]").count(), 1);
        assert!(policy.ends_with("members = [\"first\", \"second\"]\n"));
    }
}
