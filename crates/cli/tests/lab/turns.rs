//! Groups on the beat: their members take turns in one slot, whatever a member does.

use std::{
    fs,
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicBool, AtomicU32, Ordering::SeqCst},
    },
    thread,
};

use takt_beats::Beat;

use crate::{
    beats::{A, B, end},
    machine::{DEFAULT, NEWEST, TWO_PROCESSORS, WITHOUT_BPF_QDISCS},
    metronome::{
        MS, Shell, US, assert_stands, member, now_ns, sleep_ms, spin, take_name, task,
        wait_for_reservations,
    },
    rounds,
    stress::Stress,
    takt::{apply, takt},
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
    /// How many turns there were when the first member left: those who joined late have more jobs left.
    whole: OnceLock<usize>,
}

impl Stage {
    fn act(&self, actor: u8, act: impl FnOnce()) {
        self.clashes
            .fetch_add(self.taken.fetch_add(1, SeqCst), SeqCst);
        self.turns.lock().unwrap().push(actor);
        act();
        self.taken.fetch_sub(1, SeqCst);
    }

    /// The member that calls it has its last turn.
    fn leave(&self) {
        let turns = self.turns.lock().unwrap();
        self.whole.get_or_init(|| turns.len());
    }

    /// From when all members have joined, and until one leaves.
    #[track_caller]
    fn assert_in_order(&self, least: usize) {
        assert_eq!(self.clashes.load(SeqCst), 0, "members ran at the same time");
        let turns = self.turns.lock().unwrap();
        let all = |turns: &[u8]| [0, 1, 2].iter().all(|actor| turns.contains(actor));
        let from = (0..turns.len())
            .find(|end| all(&turns[..*end]))
            .expect("all came")
            + 3;
        let turns = &turns[from..*self.whole.get().expect("one left")];
        assert!(turns.len() >= least, "{} turns", turns.len());
        for (at, pair) in turns.windows(2).enumerate() {
            let around = &turns[at.saturating_sub(6)..turns.len().min(at + 9)];
            let next = (pair[0] + 1) % 3;
            assert_eq!(
                pair[1],
                next,
                "out of order in turn {at} of {}: {around:?}",
                turns.len()
            );
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
                if job + 1 == jobs {
                    stage.leave();
                }
                if seated.load(SeqCst) {
                    stage.act(actor, || act(actor, job));
                } else {
                    sleep_ms(1);
                }
            })
        })
        .collect();
    wait_for_reservations(3);
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
        let busy = Stress::start();
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

/// A run by rounds leaves what takes minutes to one of so many.
const ONE_OF: usize = 8;

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
        let busy = Stress::start();
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
            // Fifty periods.
            sleep_ms(1000);
            for ((count, _), before) in counts.iter().zip(before) {
                assert!(
                    count.load(SeqCst) > before,
                    "a member hangs with CPU 1 {online}"
                );
            }
            assert_stands();
        }
        drop(busy);
        // Members without slots never sleep, and in virtual time that takes the host minutes.
        for _ in rounds::in_turn("half a minute without a processor", [()], ONE_OF) {
            // Longer than the kernel waits for any thread.
            fs::write("/sys/devices/system/cpu/cpu1/online", "0").unwrap();
            sleep_ms(35_000);
            assert_stands();
            fs::write("/sys/devices/system/cpu/cpu1/online", "1").unwrap();
        }
        done.store(true, SeqCst);
        for (_, thread) in counts {
            thread.join().unwrap();
        }
        end();
    });
}

/// Members that choose who goes next.
fn free() -> String {
    format!("{GROUP}handoff = \"free\"\n")
}

/// What a member does after its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Choice {
    Pass(u32),
    End,
    Next,
}

impl Choice {
    fn make(self, beat: &Beat) {
        match self {
            Self::Pass(member) => beat.pass(member),
            Self::End => beat.end(),
            Self::Next => beat.done(),
        }
    }

    /// The member, from 0, that goes after this one if all of them wait.
    fn leads_to(self, from: u8) -> u8 {
        match self {
            Self::Pass(member @ 1..=3) => member as u8 - 1,
            Self::Pass(0) | Self::End => 0,
            // No member of the group: the order.
            Self::Pass(_) | Self::Next => (from + 1) % 3,
        }
    }
}

/// Turns of members that choose so in their n-th turn, until so many were had; each with its
/// choice.
fn play_freely(turns: usize, act: fn(u8, u64), choose: fn(u8, u64) -> Choice) -> Vec<(u8, Choice)> {
    let taken = Arc::new(AtomicU32::new(0));
    let clashes = Arc::new(AtomicU32::new(0));
    let had = Arc::new(Mutex::new(Vec::new()));
    let actors: Vec<_> = (0u8..)
        .zip(NAMES)
        .map(|(actor, name)| {
            let (taken, clashes, had) = (taken.clone(), clashes.clone(), had.clone());
            thread::spawn(move || {
                take_name(name);
                let beat = Beat::own().unwrap();
                wait_for_reservations(3);
                // Each has its first turn in order: all wait from then on.
                beat.done();
                for turn in 0.. {
                    clashes.fetch_add(taken.fetch_add(1, SeqCst), SeqCst);
                    act(actor, turn);
                    let choice = choose(actor, turn);
                    let is_over = {
                        let mut had = had.lock().unwrap();
                        had.push((actor, choice));
                        had.len() >= turns
                    };
                    taken.fetch_sub(1, SeqCst);
                    if is_over {
                        return;
                    }
                    choice.make(&beat);
                }
            })
        })
        .collect();
    for actor in actors {
        actor.join().unwrap();
    }
    assert_eq!(clashes.load(SeqCst), 0, "members ran at the same time");
    Arc::into_inner(had).unwrap().into_inner().unwrap()
}

/// Any of them, also the member itself, one that there is not, the order, and the end.
fn any(actor: u8, turn: u64) -> Choice {
    let mixed = (turn * 3 + u64::from(actor)).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
    match mixed % 16 {
        0 | 15 => Choice::End,
        13 => Choice::Next,
        14 => Choice::Pass([4, 9, 17, u32::MAX][mixed as usize / 16 % 4]),
        to => Choice::Pass(to as u32 % 3 + 1),
    }
}

#[track_caller]
fn assert_as_chosen(had: &[(u8, Choice)]) {
    // At the end members leave one by one.
    let had = &had[6..had.len() - 6];
    let wrong = had
        .windows(2)
        .filter(|pair| pair[1].0 != pair[0].1.leads_to(pair[0].0));
    assert_eq!(wrong.count(), 0, "not as chosen");
}

fn hand_over_by_choice(turns: usize) {
    apply(&free()).ok();
    let busy = Shell::busy("busy");
    assert_as_chosen(&play_freely(turns, |_, _| spin(20 * US), any));
    drop(busy);
    let status = takt("status --output json").json();
    let counted = &status["tasks"][0];
    assert_eq!(counted["handoff"], "free");
    let passed = counted["passed"].as_u64().unwrap();
    println!("{passed} passes");
    assert!(passed as usize > turns / 3, "{counted}");
    let shown = takt("status --tasks").ok();
    assert!(shown.contains("members choose who goes next: "), "{shown}");
    assert_stands();
    end();
}

#[test]
fn members_hand_over_by_choice() {
    DEFAULT.run(|| {
        // 20,000 passes to others, and as many turns that end otherwise.
        hand_over_by_choice(44_000);
    });
}

#[test]
fn members_hand_over_by_choice_newest() {
    NEWEST.run(|| {
        hand_over_by_choice(3000);
    });
}

#[test]
fn members_hand_over_by_choice_oldest() {
    WITHOUT_BPF_QDISCS.run(|| {
        hand_over_by_choice(3000);
    });
}

#[test]
fn members_hand_over_by_choice_beside_another_processor() {
    TWO_PROCESSORS.run(|| {
        apply(&free()).ok();
        let busy = Stress::start();
        assert_as_chosen(&play_freely(1500, |_, _| spin(20 * US), any));
        assert_stands();
        end();
        drop(busy);
    });
}

/// The first passes to the second, which sleeps each time that it has had the turn.
#[test]
fn a_member_that_does_not_wait_is_skipped() {
    DEFAULT.run(|| {
        apply(&free()).ok();
        let sleeps = |actor, _| {
            spin(20 * US);
            if actor == 1 {
                sleep_ms(7);
            }
        };
        let had = play_freely(600, sleeps, |actor, _| match actor {
            0 => Choice::Pass(2),
            1 => Choice::Pass(1),
            _ => Choice::End,
        });
        // It sleeps in its turn, and the others wait for it: none was skipped.
        assert_as_chosen(&had);
        assert_eq!(task(0).stats.skipped, 0);
        assert_stands();
        end();

        apply(&free()).ok();
        let asleep = thread::spawn(|| {
            take_name("g2");
            sleep_ms(3000);
        });
        let awake = |name, to| {
            thread::spawn(move || {
                take_name(name);
                let beat = Beat::own().unwrap();
                wait_for_reservations(3);
                let end_ns = now_ns() + 1500 * MS;
                let mut turns = 0;
                while now_ns() < end_ns {
                    spin(20 * US);
                    turns += 1;
                    beat.pass(to);
                }
                turns
            })
        };
        // Neither waits for the second, to which both pass.
        let (one, three) = (awake("g1", 2), awake("g3", 2));
        assert!(one.join().unwrap() > 300);
        assert!(three.join().unwrap() > 300);
        let stats = task(0).stats;
        assert!(stats.skipped > 600, "{} of {}", stats.skipped, stats.passed);
        asleep.join().unwrap();
        assert_stands();
        end();
    });
}

/// Passing gives a group no more than its budget, and no other group a turn.
#[test]
fn passing_gains_no_time() {
    DEFAULT.run(|| {
        apply(&format!("{}{A}", free())).ok();
        let busy = Shell::busy("busy");
        let beside = member("beat-a", 100, |_| spin(500 * US));
        let before = task(0).stats.used_ns;
        let began_ns = now_ns();
        // None ends a job: each uses its budget up.
        play_freely(
            4000,
            |_, _| spin(50 * US),
            |actor, _| Choice::Pass(u32::from((actor + 2) % 3) + 1),
        );
        let used_ns = task(0).stats.used_ns - before;
        let periods = (now_ns() - began_ns) / (2 * MS) + 1;
        assert!(
            task(0).stats.used_max_ns < 640 * US,
            "{}",
            task(0).stats.used_max_ns
        );
        assert!(
            used_ns <= periods * 610 * US,
            "{used_ns} in {periods} periods"
        );
        beside.join().unwrap();
        assert_eq!(task(1).stats.overruns, 0);
        drop(busy);
        assert_stands();
        end();
    });
}

/// A member of a group in order cannot choose.
#[test]
fn a_group_in_order_is_not_free() {
    DEFAULT.run(|| {
        apply(GROUP).ok();
        let had = play_freely(900, |_, _| spin(20 * US), any);
        let had = &had[6..had.len() - 6];
        let in_order = |pair: &[(u8, Choice)]| pair[1].0 == (pair[0].0 + 1) % 3;
        assert!(had.windows(2).all(in_order));
        assert_eq!(task(0).stats.passed, 0);
        assert_stands();
        end();
    });
}
