//! What a policy means by its tasks, and by how they share the CPUs.

use takt_policy::{
    BeatsClock, Handoff, Join, LEAD_AUTO_MAX_NS, Member, Overrun, Task, ThreadMatch, parse,
};

fn beats(text: &str) -> takt_policy::Beats {
    let policy = parse("model.toml", text).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(policy.links, []);
    policy.beats.unwrap()
}

const TASK: &str = "[[task]]\nname = \"mixer\"\nperiod = \"40ms\"\nbudget = \"8ms\"\n";

#[test]
fn a_task_alone_has_its_defaults() {
    let beats = beats(TASK);
    let members = vec![Member {
        name: "mixer".to_owned(),
        matches: ThreadMatch {
            thread: Some("mixer".to_owned()),
            ..ThreadMatch::default()
        },
    }];
    let task = Task {
        name: "mixer".to_owned(),
        period_ns: 40_000_000.into(),
        budget_ns: 8_000_000,
        offset_ns: None,
        lead_ns: 0,
        lead_auto: false,
        cpus: None,
        overrun: Overrun::Demote,
        handoff: Handoff::Order,
        members,
        line: 1,
    };
    assert_eq!(beats.tasks, [task]);
    assert_eq!((beats.grid_ns, beats.free_ppm), (500_000.into(), 62_500));
    assert_eq!(beats.clock, BeatsClock::Monotonic);
    assert_eq!((beats.cpus, beats.batch_packets), (None, 8));
    assert!(beats.threaded_napi && !beats.ignore_cgroup_limits);
    assert_eq!(beats.join, Join::Group("takt".to_owned()));
}

#[test]
fn tasks_and_beats_say_what_they_mean() {
    let beats = beats(
        r#"
        [[task]]
        name = "av"
        period = "10ms"
        budget = "1.5ms"
        offset = "2ms"
        lead = "20us"
        cpus = "3,0-1,1"
        overrun = "stop-group"
        match = { command = "player", unit = "av.service" }
        handoff = "free"
        members = ["decode", "web content"]
        [[task]]
        name = "a-process-by-its-command-alone"
        period = "1s"
        budget = "30us"
        lead = "auto"
        overrun = "signal"
        cpus = 1
        match = { command = "logger", cgroup = "/studio.slice/" }
        [beats]
        grid = "100us"
        clock = "tai"
        free = 0.25
        cpus = "0-3"
        threaded_napi = false
        batch = 64
        ignore_cgroup_limits = true
        join = "audio"
        "#,
    );
    assert_eq!((beats.grid_ns, beats.free_ppm), (100_000.into(), 250_000));
    assert_eq!(beats.clock, BeatsClock::Tai);
    assert_eq!(beats.cpus, Some(vec![0, 1, 2, 3]));
    assert_eq!((beats.threaded_napi, beats.batch_packets), (false, 64));
    assert!(beats.ignore_cgroup_limits);
    assert_eq!(beats.join, Join::Group("audio".to_owned()));
    let [av, logger] = beats.tasks.as_slice() else {
        panic!("two tasks");
    };
    assert_eq!((av.offset_ns, av.lead_ns), (Some(2_000_000.into()), 20_000));
    assert_eq!(av.cpus, Some(vec![0, 1, 3]));
    assert_eq!(
        (av.overrun, logger.overrun),
        (Overrun::StopGroup, Overrun::Signal)
    );
    assert_eq!(
        (av.lead_auto, logger.lead_auto, logger.lead_ns),
        (false, true, LEAD_AUTO_MAX_NS)
    );
    assert_eq!(
        (av.handoff, logger.handoff),
        (Handoff::Free, Handoff::Order)
    );
    let text = |text: &str| Some(text.to_owned());
    let of_player = |thread: &str| Member {
        name: thread.to_owned(),
        matches: ThreadMatch {
            thread: text(thread),
            command: text("player"),
            cgroup: None,
            unit: text("av.service"),
        },
    };
    assert_eq!(av.members, [of_player("decode"), of_player("web content")]);
    let first_thread = Member {
        name: logger.name.clone(),
        matches: ThreadMatch {
            thread: None,
            command: text("logger"),
            cgroup: text("studio.slice"),
            unit: None,
        },
    };
    assert_eq!(logger.members, [first_thread]);
    assert_eq!(logger.cpus, Some(vec![1]));
    let shown = serde_json::to_value(&beats).unwrap();
    assert_eq!(shown["tasks"][0]["overrun"], "stop-group");
}

#[test]
fn links_and_tasks_stand_side_by_side() {
    let text = format!("[link.eth0]\nrate = \"1gbit\"\n{TASK}");
    let policy = parse("model.toml", &text).unwrap();
    assert_eq!((policy.links.len(), policy.beats.iter().len()), (1, 1));
    let alone = parse("model.toml", "[link.eth0]\nrate = \"1gbit\"\n").unwrap();
    assert_eq!(alone.beats, None);
}

#[test]
fn a_member_may_have_another_task_s_name_with_a_match_of_its_own() {
    let group = |name: &str| {
        format!(
            "[[task]]\nname = \"{name}\"\nperiod = \"40ms\"\nbudget = \"8ms\"\n\
             match = {{ command = \"{name}\" }}\nmembers = [\"a\", \"mixer\"]\n"
        )
    };
    let tasks = beats(&format!("{TASK}{}{}", group("a"), group("b"))).tasks;
    assert_eq!(tasks.len(), 3);
}

#[test]
fn an_error_of_the_host_names_the_task() {
    let policy = parse(
        "model.toml",
        &format!("{TASK}{}", TASK.replace("mixer", "b")),
    )
    .unwrap();
    let error = policy.task_error(1, "takt::task::does_not_fit", "no room", "make some");
    assert_eq!(error.to_json()[0]["line"], 6);
    assert_eq!(error.to_json()[0]["offending"], "\"b\"");
}
