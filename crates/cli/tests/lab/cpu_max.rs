//! `cpu.max` of control groups holds while beats are loaded.

use std::{
    ops::RangeInclusive,
    process,
    sync::mpsc::{Receiver, SyncSender, sync_channel},
    thread::{self, JoinHandle},
};

use crate::{
    control_group::Group,
    machine::{DEFAULT, NEWEST, TWO_PROCESSORS},
    metronome::{MS, Shell, assert_on_beat, assert_stands, member, now_ns, sleep_ms, spin},
    takt::{apply, assert_no_trace, takt},
};

const TASK: &str = r#"
[[task]]
name = "unused"
period = "40ms"
budget = "1ms"
"#;

const WINDOW_MS: u64 = 3_000;
/// Within two points of 20 %.
const A_FIFTH: RangeInclusive<f64> = 0.18..=0.22;

/// Of one processor, for all of them together.
fn share(shells: &[Shell]) -> f64 {
    let ran = || shells.iter().map(Shell::ran_ns).sum::<u64>();
    let (begin_ns, before_ns) = (now_ns(), ran());
    sleep_ms(WINDOW_MS);
    let (end_ns, after_ns) = (now_ns(), ran());
    (after_ns - before_ns) as f64 / (end_ns - begin_ns) as f64
}

/// Threads in a group that never sleep.
fn busy(group: &Group, count: usize) -> Vec<Shell> {
    let shells = (0..count).map(|_| Shell::busy("busy")).collect::<Vec<_>>();
    shells.iter().for_each(|shell| group.take(shell));
    shells
}

#[track_caller]
fn assert_share(shells: &[Shell], expected: RangeInclusive<f64>) {
    let share = share(shells);
    println!("share {share:.4}");
    assert!(expected.contains(&share), "{share}");
}

#[track_caller]
fn end() {
    assert_stands();
    takt("revert").ok();
    assert_no_trace();
}

/// So many threads that never sleep, in a group with a fifth of a processor.
fn a_fifth(threads: usize) {
    let group = Group::new("limited");
    group.set("cpu.max", "20000 100000");
    let shells = busy(&group, threads);
    apply(TASK).ok();
    // What it saved up before.
    sleep_ms(500);
    assert_share(&shells, A_FIFTH);
    // Beside a thread without a limit.
    let free = Shell::busy("free");
    assert_share(&shells, A_FIFTH);
    drop(free);
    // While beats are loaded the limit changes, goes and comes.
    group.set("cpu.max", "10000 50000");
    assert_share(&shells, A_FIFTH);
    group.set("cpu.max", "max");
    sleep_ms(1_000);
    let all = share(&shells);
    assert!(all > 0.9, "{all}");
    group.set("cpu.max", "2000 10000");
    sleep_ms(500);
    assert_share(&shells, A_FIFTH);
    drop(shells);
    end();
}

#[test]
fn of_one_thread() {
    DEFAULT.run(|| a_fifth(1));
}

#[test]
fn of_one_thread_newest() {
    NEWEST.run(|| a_fifth(1));
}

#[test]
fn of_several_threads() {
    DEFAULT.run(|| a_fifth(5));
}

#[test]
fn of_threads_on_two_processors() {
    TWO_PROCESSORS.run(|| a_fifth(3));
}

/// Between them goes a message, and back, as long as there is one.
fn pass_messages() -> [JoinHandle<()>; 2] {
    let (there, here) = (sync_channel::<bool>(0), sync_channel::<bool>(0));
    let end_ns = now_ns() + (WINDOW_MS + 1_000) * MS;
    let passes =
        |from: Receiver<bool>, to: SyncSender<bool>| {
            thread::spawn(move || {
                while now_ns() < end_ns && from.recv().is_ok() && to.send(true).is_ok() {}
            })
        };
    let first = there.0.clone();
    let threads = [passes(there.1, here.0), passes(here.1, there.0)];
    first.send(true).unwrap();
    threads
}

#[test]
fn of_threads_that_do_little_but_switch() {
    DEFAULT.run(|| {
        let group = Group::new("limited");
        apply(TASK).ok();
        group.set("cpu.max", "20000 100000");
        group.set("cgroup.procs", &process::id().to_string());
        let threads = pass_messages();
        sleep_ms(500);
        let before_us = group.usage_us();
        sleep_ms(WINDOW_MS);
        let used_us = group.usage_us() - before_us;
        for thread in threads {
            thread.join().unwrap();
        }
        Group::leave_all();
        let share = used_us as f64 / (WINDOW_MS * 1_000) as f64;
        println!("share {share:.4}");
        assert!(A_FIFTH.contains(&share), "{share}");
        end();
    });
}

#[test]
fn the_tightest_limit_above_a_thread_holds() {
    DEFAULT.run(|| {
        let outer = Group::new("outer");
        let inner = outer.below("inner");
        outer.set("cpu.max", "20000 100000");
        inner.set("cpu.max", "40000 100000");
        let shells = busy(&inner, 2);
        apply(TASK).ok();
        sleep_ms(500);
        assert_share(&shells, A_FIFTH);
        inner.set("cpu.max", "10000 100000");
        sleep_ms(500);
        assert_share(&shells, 0.08..=0.12);
        // Two groups below one limit.
        let sibling = outer.below("sibling");
        let others = busy(&sibling, 1);
        let all = shells.into_iter().chain(others).collect::<Vec<_>>();
        sleep_ms(500);
        assert_share(&all, A_FIFTH);
        drop(all);
        end();
    });
}

/// However many groups of others have limits, and however tight they are.
#[test]
fn one_groups_limit_costs_no_other() {
    DEFAULT.run(|| {
        let others = Group::new("others");
        let groups: Vec<_> = (0..200).map(|n| others.below(&format!("{n}"))).collect();
        for group in &groups {
            group.set("cpu.max", "1000 1000000");
        }
        let waiting: Vec<_> = groups.iter().flat_map(|group| busy(group, 1)).collect();
        let half = Group::new("half");
        half.set("cpu.max", "50000 100000");
        let shells = busy(&half, 1);
        apply(TASK).ok();
        sleep_ms(2_000);
        assert_share(&shells, 0.48..=0.52);
        drop((shells, waiting));
        end();
    });
}

/// The limit of a group goes, or the group, while its thread waits for it.
#[test]
fn who_waits_for_a_limit_goes_on_without_it() {
    DEFAULT.run(|| {
        let group = Group::new("limited");
        apply(TASK).ok();
        for _ in 0..3 {
            group.set("cpu.max", "1000 1000000");
            let shells = busy(&group, 3);
            sleep_ms(200);
            let before: Vec<_> = shells.iter().map(Shell::ran_ns).collect();
            group.set("cpu.max", "max");
            sleep_ms(500);
            for (shell, before) in shells.iter().zip(before) {
                let ran_ns = shell.ran_ns() - before;
                assert!(ran_ns > 100 * MS, "{ran_ns}");
            }
        }
        for _ in 0..3 {
            let below = group.below("below");
            below.set("cpu.max", "1000 1000000");
            let shells = busy(&below, 2);
            sleep_ms(200);
            // Killed while they wait, and the group removed.
            drop(shells);
        }
        end();
    });
}

#[test]
fn no_thread_starves_under_a_limit() {
    DEFAULT.run(|| {
        let group = Group::new("limited");
        group.set("cpu.max", "1000 1000000");
        apply(TASK).ok();
        let shells = busy(&group, 4);
        let look = || shells.iter().map(Shell::ran_ns).collect::<Vec<_>>();
        sleep_ms(2_000);
        let mut before = look();
        // A thread waits for 10 s at most, and longer on a machine that is held up.
        for _ in 0..2 {
            sleep_ms(20_000);
            let now = look();
            let mut ran = before.iter().zip(&now).map(|(before, now)| now - before);
            assert!(ran.all(|ran_ns| ran_ns > 0), "{before:?} {now:?}");
            before = now;
        }
        drop(shells);
        end();
    });
}

#[test]
fn a_member_in_its_slot_has_no_limit() {
    DEFAULT.run(|| {
        let group = Group::new("limited");
        group.set("cpu.max", "2000 100000");
        apply("[[task]]\nname = \"beat\"\nperiod = \"10ms\"\nbudget = \"2ms\"\noffset = \"1ms\"\n")
            .ok();
        let group = &group;
        let starts = member("beat", 200, |_| spin(MS));
        group.set("cgroup.procs", &process::id().to_string());
        assert_on_beat(&starts.join().unwrap(), 10 * MS, MS);
        Group::leave_all();
        end();
    });
}
