//! Groups on the beat: their members take turns in one slot, whatever a member does.

use std::{
    fs,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU32, Ordering::SeqCst},
    },
    thread,
};

use crate::{
    beats::{A, B, end},
    machine::{DEFAULT, TWO_PROCESSORS},
    metronome::{
        MS, Shell, US, assert_stands, member, now_ns, reservations, sleep_ms, spin, take_name,
    },
    takt::apply,
};

const GROUP: &str = r#"
[beats]
grid = "100us"

[[task]]
name = "av"
period = "2ms"
budget = "600us"
offset = "200us"
members = ["g1", "g2", "g3"]
"#;

const NAMES: [&str; 3] = ["g1", "g2", "g3"];

/// The members that ran, and that no other thread did meanwhile.
#[derive(Default)]
struct Stage {
    taken: AtomicU32,
    clashes: AtomicU32,
    turns: Mutex<Vec<u8>>,
}

impl Stage {
    fn act(&self, actor: u8, act: impl FnOnce()) {
        self.clashes
            .fetch_add(self.taken.fetch_add(1, SeqCst), SeqCst);
        self.turns.lock().unwrap().push(actor);
        act();
        self.taken.fetch_sub(1, SeqCst);
    }

    /// From when all members have joined, and as long as they have.
    #[track_caller]
    fn assert_in_order(&self, least: usize) {
        assert_eq!(self.clashes.load(SeqCst), 0, "members ran at the same time");
        let turns = self.turns.lock().unwrap();
        let all = |turns: &[u8]| [0, 1, 2].iter().all(|actor| turns.contains(actor));
        let from = (0..turns.len())
            .find(|end| all(&turns[..*end]))
            .expect("all came")
            + 3;
        let turns = &turns[from..turns.len().saturating_sub(6)];
        assert!(turns.len() >= least, "{} turns", turns.len());
        for pair in turns.windows(2) {
            assert_eq!(pair[1], (pair[0] + 1) % 3, "out of order");
        }
    }
}

fn play(jobs: u64, act: fn(u8, u64)) -> Arc<Stage> {
    let stage = Arc::new(Stage::default());
    let seated = Arc::new(AtomicBool::new(false));
    let actors: Vec<_> = (0u8..)
        .zip(NAMES)
        .map(|(actor, name)| {
            let (stage, seated) = (stage.clone(), seated.clone());
            member(name, jobs, move |job| {
                // Until all members have joined each runs on its own.
                if seated.load(SeqCst) {
                    stage.act(actor, || act(actor, job));
                } else {
                    sleep_ms(1);
                }
            })
        })
        .collect();
    while reservations() < 3 {
        sleep_ms(1);
    }
    sleep_ms(20);
    seated.store(true, SeqCst);
    for actor in actors {
        actor.join().unwrap();
    }
    stage
}

#[test]
fn members_hand_over_in_order() {
    DEFAULT.run(|| {
        apply(GROUP).ok();
        let busy = Shell::busy("busy");
        play(800, |_, _| spin(50 * US)).assert_in_order(2000);
        drop(busy);
        assert_stands();
        end();
    });
}

/// One member overruns, sleeps, or writes a file now and then.
fn unruly(actor: u8, job: u64) {
    spin(20 * US);
    match (actor, job % 17) {
        (0, 3) | (1, 5) | (2, 7) => spin(MS),
        (0, 9) | (1, 10) => sleep_ms(1),
        (2, 11) => fs::write("/lab/written", vec![0; 65536]).unwrap(),
        (1, 13) => sleep_ms(5),
        _ => {}
    }
}

#[test]
fn members_hand_over_in_order_whatever_they_do() {
    DEFAULT.run(|| {
        apply(GROUP).ok();
        let busy = Shell::busy("busy");
        play(700, unruly).assert_in_order(1200);
        drop(busy);
        assert_stands();
        end();
    });
}

#[test]
fn a_member_that_never_comes_stops_nobody() {
    DEFAULT.run(|| {
        apply(GROUP).ok();
        let jobs = |name| {
            thread::spawn(move || {
                take_name(name);
                let end_ns = now_ns() + 40_000 * MS;
                let mut jobs = 0;
                while now_ns() < end_ns {
                    spin(20 * US);
                    sleep_ms(2);
                    thread::yield_now();
                    jobs += 1;
                }
                jobs
            })
        };
        let (one, two) = (jobs("g1"), jobs("g2"));
        assert!(one.join().unwrap() > 1000);
        assert!(two.join().unwrap() > 1000);
        assert_stands();
        play(300, |_, _| spin(50 * US)).assert_in_order(600);
        end();
    });
}

#[test]
fn two_processors_keep_the_order() {
    TWO_PROCESSORS.run(|| {
        let policy = format!(
            "{GROUP}{}{}",
            A.replace("10ms", "20ms"),
            B.replace("10ms", "20ms")
        );
        apply(&policy).ok();
        let busy = Shell::stress();
        let a = member("beat-a", 200, |_| spin(500 * US));
        let b = member("beat-b", 200, |_| spin(500 * US));
        play(500, unruly).assert_in_order(600);
        a.join().unwrap();
        b.join().unwrap();
        assert_stands();
        // Under load.
        end();
        drop(busy);
    });
}

#[test]
fn a_processor_goes_and_comes_back() {
    TWO_PROCESSORS.run(|| {
        let tasks = format!(
            "{}cpus = \"1\"\n{}cpus = \"1\"\n{}cpus = \"0\"\n",
            GROUP.replace("[beats]\ngrid = \"100us\"\n", ""),
            A,
            B
        )
        .replace(
            "2ms\"\nbudget = \"600us\"\noffset = \"200us\"",
            "20ms\"\nbudget = \"5ms\"",
        );
        apply(&tasks).ok();
        let busy = Shell::stress();
        let done = Arc::new(AtomicBool::new(false));
        let counts: Vec<_> = ["beat-a", "beat-b", "g1", "g2", "g3"]
            .into_iter()
            .map(|name| {
                let (done, count) = (done.clone(), Arc::new(AtomicU32::new(0)));
                let counted = count.clone();
                let thread = thread::spawn(move || {
                    take_name(name);
                    while !done.load(SeqCst) {
                        spin(200 * US);
                        counted.fetch_add(1, SeqCst);
                        thread::yield_now();
                    }
                });
                (count, thread)
            })
            .collect();
        sleep_ms(500);
        for online in ["0", "1", "0", "1"] {
            fs::write("/sys/devices/system/cpu/cpu1/online", online).unwrap();
            sleep_ms(300);
            let before: Vec<u32> = counts.iter().map(|(count, _)| count.load(SeqCst)).collect();
            sleep_ms(3000);
            for ((count, _), before) in counts.iter().zip(before) {
                assert!(
                    count.load(SeqCst) > before,
                    "a member hangs with CPU 1 {online}"
                );
            }
            assert_stands();
        }
        // Longer than the kernel waits for any thread.
        fs::write("/sys/devices/system/cpu/cpu1/online", "0").unwrap();
        sleep_ms(35_000);
        assert_stands();
        fs::write("/sys/devices/system/cpu/cpu1/online", "1").unwrap();
        done.store(true, SeqCst);
        for (_, thread) in counts {
            thread.join().unwrap();
        }
        drop(busy);
        end();
    });
}
