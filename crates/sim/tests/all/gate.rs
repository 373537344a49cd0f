//! The gate, with tasks as a process: a background class has the link while no task runs that is more
//! important than its sender.

use takt_sim::qdisc::{Fifo, Takt};

use crate::common::{of, policy, run, setup};

const NS_PER_S: u64 = 1_000_000_000;

/// A link with a background class.
fn gated() -> String {
    policy("100mbit", &[])
        + "[[link.eth0.class]]\nname = \"backup\"\npriority = \"background\"\n\
           match = { dst_port = 873 }\n"
}

/// Of the link, for a sender of nice 10 beside a task.
fn share(task_nice: i8, more: &str) -> f64 {
    let traffic = format!(
        "[[source]]\nname = \"backup\"\nkind = \"backlog\"\nnice = 10\n\
         headers = {{ proto = \"tcp\", dst_port = 873 }}\n\
         [[task]]\nnice = {task_nice}\nwork = \"30ms\"\nrest = \"10ms\"\n{more}"
    );
    let setup = setup(&gated(), &traffic);
    let outcome = run(&setup, &mut Takt::new(setup.tables.clone()), 100 * NS_PER_S);
    outcome.utilisation_percent / 100.0
}

#[test]
fn the_background_has_the_time_that_tasks_leave() {
    // A quarter of the time, of 2,500 periods.
    let beside = share(0, "");
    assert!((beside - 0.25).abs() < 0.02, "{beside}");
    let second = "[[task]]\nnice = -5\nwork = \"10ms\"\nrest = \"10ms\"\n";
    let beside_two = share(0, second);
    assert!((beside_two - 0.125).abs() < 0.02, "{beside_two}");
}

#[test]
fn tasks_that_are_no_more_important_do_not_block() {
    for nice in [10, 19] {
        assert!(share(nice, "") > 0.999);
    }
}

/// The class is not gated, and no peer has a gate.
#[test]
fn only_gated_classes_wait() {
    let traffic = "[[source]]\nname = \"a\"\nkind = \"backlog\"\nnice = 19\n\
        [[task]]\nwork = \"30ms\"\nrest = \"10ms\"\n";
    let setup = setup(&gated(), traffic);
    let takt = run(&setup, &mut Takt::new(setup.tables.clone()), NS_PER_S);
    let fifo = run(&setup, &mut Fifo::new(100), NS_PER_S);
    for outcome in [takt, fifo] {
        assert!(outcome.utilisation_percent > 99.9);
        assert_eq!(of(&outcome.sources, "a").lost.packets(), 0);
    }
}
