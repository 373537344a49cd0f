//! Clocks that are hours off, or set while a policy is on trial: real processes, whose time of day
//! is wrong (`clock.c`). Holds and waits are as long as they are elsewhere.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use serde_json::Value;
use takt_fleet::{operator::Ended, selector::Selector};

use crate::{
    common::{self, Server, until},
    desk::Desk,
    process::Host,
};

const GOOD: &str = "[link.eth0]\nrate = \"1gbit\"\n";
const DROPS: &str = "[link.eth0]\nrate = \"1mbit\"\n# drops\n";
const HOLD: Duration = Duration::from_secs(5);

const HOUR_S: i64 = 3_600;

/// A time of day that is wrong by so much.
struct Clock {
    file: PathBuf,
    library: PathBuf,
}

impl Clock {
    fn new(folder: &Path, name: &str, wrong_by_s: i64) -> Self {
        let library = folder.join("clock.so");
        if !library.exists() {
            let built = Command::new("cc")
                .args(["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o"])
                .arg(&library)
                .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clock.c"))
                .arg("-ldl")
                .status();
            assert!(built.expect("there is a C compiler").success());
        }
        let clock = Self {
            file: folder.join(format!("clock-{name}")),
            library,
        };
        clock.set(wrong_by_s);
        clock
    }

    fn set(&self, wrong_by_s: i64) {
        let next = self.file.with_extension("next");
        fs::write(&next, wrong_by_s.to_string()).unwrap();
        fs::rename(next, &self.file).unwrap();
    }

    fn environment(&self) -> Vec<(&'static str, PathBuf)> {
        vec![
            ("LD_PRELOAD", self.library.clone()),
            ("TEST_CLOCK", self.file.clone()),
        ]
    }

    /// What programs read, less what is right.
    fn wrong_by_s(&self) -> i64 {
        let mut date = Command::new("date");
        let date = date.arg("+%s").envs(self.environment()).output();
        let date = String::from_utf8(date.unwrap().stdout).unwrap();
        let right = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        date.trim().parse::<i64>().unwrap() - right.as_secs() as i64
    }
}

/// Pushes to all hosts at once, with a wrong clock.
fn push(desk: &Desk, clock: &Clock, policy: &str, health: &str) -> (Option<i32>, Value) {
    let policy = desk.file("policy.toml", policy);
    let hold = format!("{}s", HOLD.as_secs());
    let words = [
        "--to", "all", "--canary", "100%", "--grace", "30s", "--hold", &hold, "--health", health,
        &policy,
    ];
    desk.fleet("push", &words, &clock.environment())
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_clocks_change_nothing() {
    let server = Server::start();
    let folder = server.folder.path();
    let wrong_s = [0, 6 * HOUR_S, -6 * HOUR_S, 0];
    let clocks: Vec<Clock> = (0..wrong_s.len())
        .map(|host| Clock::new(folder, &host.to_string(), wrong_s[host]))
        .collect();
    for (clock, wrong_s) in clocks.iter().zip(wrong_s) {
        assert!((clock.wrong_by_s() - wrong_s).abs() < 60);
    }
    let mut operator = server.operator().await;
    let hosts: Vec<Host> = clocks
        .iter()
        .enumerate()
        .map(|(host, clock)| Host::start(&server, host, &clock.environment()))
        .collect();
    while operator.fresh_roster().await.unwrap().hosts().count() < hosts.len() {}
    // The one whose clock is set meanwhile.
    let set = &hosts[3];
    let tries = |policy| set.is_on_trial() && set.in_force().as_deref() == Some(policy);
    let have = |policy| {
        let has = |host: &Host| !host.is_on_trial() && host.in_force().as_deref() == Some(policy);
        hosts.iter().all(has)
    };
    let desk = Desk::new(&server);
    let own = Clock::new(folder, "operator", 9 * HOUR_S);

    // All keep a good policy, though clocks are set during its trial: no trial is shorter for it.
    thread::scope(|scope| {
        // The trial begins later, however long a busy host takes.
        let began = Instant::now();
        let pushed = scope.spawn(|| push(&desk, &own, GOOD, "problems == 0"));
        block_on(until("it tries it", || tries(GOOD)));
        clocks[3].set(26 * HOUR_S);
        own.set(-9 * HOUR_S);
        block_on(until("it keeps it", || !set.is_on_trial()));
        assert!(began.elapsed() >= HOLD, "{:?}", began.elapsed());
        let (code, value) = pushed.join().unwrap();
        assert_eq!(code, Some(0), "{value}");
        assert_eq!(value["hosts"]["kept"], hosts.len(), "{value}");
    });
    assert!(have(GOOD));

    // All take a bad one back, in time.
    thread::scope(|scope| {
        let pushed = scope.spawn(|| push(&desk, &own, DROPS, "dropped(voice) == 0"));
        block_on(until("it tries it", || tries(DROPS)));
        let began = Instant::now();
        clocks[3].set(-30 * HOUR_S);
        own.set(9 * HOUR_S);
        block_on(until("all have what they had", || have(GOOD)));
        println!("taken back after {:?}, hold {HOLD:?}", began.elapsed());
        let (code, value) = pushed.join().unwrap();
        assert_eq!(code, Some(1), "{value}");
        assert!(
            value["error"].as_str().unwrap().contains("not healthy"),
            "{value}"
        );
    });

    // An operator is told how old reports are by the engine's clock, whatever its own is.
    for wrong_s in [9 * HOUR_S, -9 * HOUR_S] {
        own.set(wrong_s);
        let (code, view) = desk.fleet("status", &["--hosts"], &own.environment());
        assert_eq!(code, Some(0), "{view}");
        let told = view["hosts"].as_array().unwrap();
        assert_eq!(told.len(), hosts.len());
        for host in told {
            assert_ne!(host["state"], "absent", "{host}");
            assert!(
                (0..=60).contains(&host["age_s"].as_i64().unwrap()),
                "{host}"
            );
        }
    }
}

/// An agent that is killed during a trial, and comes back when the clock was set back by a day.
#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_is_set_while_the_agent_is_away() {
    let server = Server::start();
    let mut operator = server.operator().await;
    let clock = Clock::new(server.folder.path(), "host", 0);
    let mut host = Host::start(&server, 0, &clock.environment());
    while operator.fresh_roster().await.unwrap().hosts().count() < 1 {}
    let roster = operator.roster().await.unwrap();
    operator
        .push(&common::push(GOOD, "all"), &roster)
        .await
        .unwrap();
    until("it tries the policy", || host.is_on_trial()).await;
    host.kill();
    clock.set(-24 * HOUR_S);
    host.go_on();
    let ended = operator.drive(&Selector::ALL, |_, _| {}).await.unwrap();
    assert!(matches!(ended, Ended::Done(_)), "{ended:?}");
    assert_eq!(host.in_force().as_deref(), Some(GOOD));
}

/// In a test whose runtime has other threads.
fn block_on(until: impl Future<Output = ()>) {
    tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(until));
}
