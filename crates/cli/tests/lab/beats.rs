//! Threads on the beat, and what members, other programs and administrators do to them.

use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering::SeqCst},
        mpsc,
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use nix::{
    sched::{CpuSet, sched_setaffinity},
    unistd::Pid,
};

use crate::{
    killed::apply_traced,
    machine::{DEFAULT, NEWEST, TWO_PROCESSORS, WITHOUT_BPF_QDISCS, on_old_kernels},
    metronome::{
        MS, Shell, US, assert_never_ejected, assert_on_beat, assert_phases, assert_stands,
        generation, holder, member, now_ns, reservations, sleep_ms, spin, state, take_name, task,
        work,
    },
    shell::{run, run_far},
    stress::Stress,
    takt::{POLICY, apply, assert_no_trace, takt},
    wire::Wire,
};

pub const A: &str = r#"
[[task]]
name = "beat-a"
period = "10ms"
budget = "2ms"
offset = "1ms"
"#;

pub const B: &str = r#"
[[task]]
name = "beat-b"
period = "10ms"
budget = "2ms"
offset = "6ms"
"#;

const HOG: &str = r#"
[[task]]
name = "hog"
period = "10ms"
budget = "2ms"
offset = "3ms"
"#;

pub fn end() {
    takt("revert").ok();
    assert_eq!(state(), "disabled");
    assert_no_trace();
    assert_never_ejected();
}

/// A thread of a higher scheduling class.
fn realtime(does: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
    thread::spawn(|| {
        let param = libc::sched_param { sched_priority: 10 };
        // SAFETY: a valid struct.
        let done = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &param) };
        assert_eq!(done, 0);
        does();
    })
}

/// Two beats beside a thread that uses all of the processor.
fn two_beats() {
    apply(&format!("{A}{B}"))
        .says(&["beats: the scheduler is loaded"])
        .ok();
    let busy = Shell::busy("busy");
    let a = member("beat-a", 200, |_| spin(500 * US));
    let b = member("beat-b", 200, |_| spin(500 * US));
    assert_on_beat(&a.join().unwrap(), 10 * MS, MS);
    assert_on_beat(&b.join().unwrap(), 10 * MS, 6 * MS);
    drop(busy);
    assert_stands();
    end();
}

#[test]
fn every_job_begins_on_its_beat() {
    DEFAULT.run(|| {
        two_beats();
    });
}

#[test]
fn every_job_begins_on_its_beat_newest() {
    NEWEST.run(|| {
        two_beats();
    });
}

#[test]
fn every_job_begins_on_its_beat_oldest() {
    WITHOUT_BPF_QDISCS.run(|| {
        two_beats();
    });
}

#[test]
fn kernels_without_schedulers_are_refused() {
    on_old_kernels(|| {
        apply(A).ends_with(3);
        assert_no_trace();
    });
}

#[test]
fn who_never_yields_is_cut() {
    DEFAULT.run(|| {
        apply(&format!("{A}{HOG}")).ok();
        let (busy, hog) = (Shell::busy("busy"), Shell::busy("hog"));
        let a = member("beat-a", 200, |_| spin(500 * US));
        assert_on_beat(&a.join().unwrap(), 10 * MS, MS);
        let stats = task(1).stats;
        assert!(stats.overruns >= 199, "{}", stats.overruns);
        assert!(
            stats.cut_late_max_ns <= 50 * US,
            "{}",
            stats.cut_late_max_ns
        );
        assert!(
            stats.used_max_ns <= 2 * MS + 50 * US,
            "{}",
            stats.used_max_ns
        );
        assert_eq!(task(0).stats.overruns, 0);
        drop((busy, hog));
        assert_stands();
        end();
    });
}

#[test]
fn an_overrun_may_be_told_by_a_signal() {
    DEFAULT.run(|| {
        static SIGNALS: AtomicU32 = AtomicU32::new(0);
        extern "C" fn count(_: libc::c_int) {
            SIGNALS.fetch_add(1, SeqCst);
        }
        // SAFETY: the handler does nothing but count.
        unsafe { libc::signal(libc::SIGXCPU, count as *const () as libc::sighandler_t) };
        apply(&format!("{A}overrun = \"signal\"\n")).ok();
        let busy = Shell::busy("busy");
        // A thread that has never yielded may still be starting.
        let starting = thread::spawn(|| {
            take_name("beat-a");
            spin(50 * MS);
        });
        starting.join().unwrap();
        assert_eq!(SIGNALS.load(SeqCst), 0);
        let before = task(0).stats.overruns;
        let overrun = |job| work(if job % 5 == 4 { 3 * MS } else { 100 * US });
        member("beat-a", 50, overrun).join().unwrap();
        let overruns = task(0).stats.overruns - before;
        assert_eq!(overruns, 10);
        assert_eq!(SIGNALS.load(SeqCst), 10);
        drop(busy);
        assert_stands();
        end();
    });
}

#[test]
fn an_overrun_may_stop_the_group() {
    DEFAULT.run(|| {
        let stopping = format!("{A}overrun = \"stop-group\"\n");
        apply(&stopping).ok();
        let busy = Shell::busy("busy");
        let overrun = |job| spin(if job == 20 { 5 * MS } else { 100 * US });
        let starts_ns = member("beat-a", 100, overrun).join().unwrap();
        assert_on_beat(&starts_ns[..21], 10 * MS, MS);
        // An ordinary thread's yield waits for no slot.
        let (first, last) = (starts_ns[22], starts_ns[99]);
        assert!(last - first < 70 * 10 * MS, "{}", last - first);
        apply(&stopping).says(&["unchanged"]).ok();
        assert_on_beat(&member("beat-a", 50, |_| {}).join().unwrap(), 10 * MS, MS);
        drop(busy);
        assert_stands();
        end();
    });
}

/// Readings of the clock by a thread that computes for some periods and sleeps for a part of one.
fn readings_ns(rounds: u32) -> Vec<u64> {
    let reader = thread::spawn(move || {
        take_name("beat-a");
        let mut readings_ns = Vec::new();
        for _ in 0..rounds {
            sleep_ms(4);
            let until_ns = now_ns() + 25 * MS;
            while readings_ns.last().is_none_or(|last| *last < until_ns) {
                spin(5 * US);
                readings_ns.push(now_ns());
            }
        }
        readings_ns
    });
    reader.join().unwrap()
}

#[test]
fn a_thread_may_have_no_time_but_its_slots() {
    DEFAULT.run(|| {
        apply(&format!("{A}overrun = \"wait\"\n")).ok();
        let alone = readings_ns(10);
        let busy = Shell::busy("busy");
        let beside = readings_ns(10);
        for reading_ns in alone.into_iter().chain(beside) {
            let phase_ns = reading_ns % (10 * MS);
            let slot_ns = MS - US..3 * MS + 50 * US;
            assert!(slot_ns.contains(&phase_ns), "{phase_ns}");
        }
        assert!(task(0).stats.overruns > 0);
        drop(busy);
        assert_stands();
        end();
    });
}

#[test]
fn what_stays_loses_no_job_when_tasks_come_and_go() {
    DEFAULT.run(|| {
        apply(A).ok();
        let busy = Shell::busy("busy");
        let a = member("beat-a", 300, |_| spin(200 * US));
        // The thread starts before its task exists.
        let b = member("beat-b", 1500, |_| spin(200 * US));
        sleep_ms(300);
        let both = format!("{A}{B}");
        apply(&both).says(&["updated"]).ok();
        sleep_ms(300);
        assert_eq!(reservations(), 2);
        let before = generation();
        apply(&both).says(&["unchanged"]).ok();
        assert_eq!(generation(), before);
        apply(&format!("{A}{}", B.replace("2ms", "1ms")))
            .says(&["updated"])
            .ok();
        sleep_ms(300);
        let releases = task(1).stats.releases;
        sleep_ms(300);
        assert!(task(1).stats.releases >= releases + 29);
        apply(&both).ok();
        apply(A).ok();
        sleep_ms(300);
        assert_eq!(reservations(), 1);
        assert_on_beat(&a.join().unwrap(), 10 * MS, MS);
        b.join().unwrap();
        drop(busy);
        assert_stands();
        end();
    });
}

#[test]
fn another_period_begins_at_once() {
    DEFAULT.run(|| {
        apply(A).ok();
        let a = member("beat-a", 120, |_| spin(200 * US));
        sleep_ms(1000);
        apply(&A.replace("10ms", "4s")).says(&["updated"]).ok();
        let applied_ns = now_ns();
        let starts_ns = a.join().unwrap();
        let later = starts_ns.partition_point(|start_ns| *start_ns < applied_ns);
        assert!(
            later < starts_ns.len() - 3,
            "{later} jobs before the change"
        );
        assert_phases(&starts_ns[later..], 4000 * MS, MS, 50 * US);
        assert_stands();
        end();
    });
}

#[test]
fn a_successor_has_the_place_at_once() {
    DEFAULT.run(|| {
        apply(&format!("{A}{HOG}")).ok();
        let busy = Shell::busy("busy");
        for _ in 0..20 {
            let a = member("beat-a", 5, |_| spin(200 * US));
            assert_on_beat(&a.join().unwrap(), 10 * MS, MS);
        }
        for _ in 0..5 {
            let hog = Shell::busy("hog");
            sleep_ms(100);
            assert_eq!(holder(1), hog.pid());
        }
        sleep_ms(10);
        assert_eq!(reservations(), 0);
        drop(busy);
        assert_stands();
        end();
    });
}

#[test]
fn children_and_other_programs_are_nobodys_members() {
    DEFAULT.run(|| {
        apply(HOG).ok();
        let parent = Shell::new(
            "printf hog > /proc/$$/comm; i=0; while [ $i -lt 200 ]; do (:; sleep 1) & i=$((i+1)); done; \
             wait; exec sleep 1000",
        );
        sleep_ms(900);
        assert_eq!(holder(0), parent.pid());
        sleep_ms(20_000);
        assert_eq!(reservations(), 0, "sleep is called otherwise");
        drop(parent);
        assert_stands();
        end();
    });
}

#[test]
fn a_slot_that_was_taken_is_not_made_up_for() {
    DEFAULT.run(|| {
        apply(A).ok();
        let busy = Shell::busy("busy");
        let a = member("beat-a", 300, |_| spin(500 * US));
        let realtime = realtime(|| {
            for _ in 0..30 {
                sleep_ms(37);
                spin(20 * MS);
            }
        });
        realtime.join().unwrap();
        // The rest of a slot is used, and no more than that.
        assert_phases(&a.join().unwrap()[1..], 10 * MS, MS, 2 * MS);
        drop(busy);
        assert_stands();
        end();
    });
}

#[test]
fn a_job_that_loses_the_end_of_its_slot_has_overrun() {
    DEFAULT.run(|| {
        apply(A).ok();
        let busy = Shell::busy("busy");
        let a = member("beat-a", 100, |_| work(MS));
        // The thread may itself start in the middle of a slot.
        let (ready, is_ready) = mpsc::channel();
        let realtime = realtime(move || {
            sleep_ms(20);
            ready.send(task(0).stats).unwrap();
            for _ in 0..10 {
                // From half a millisecond into the slot until long after it.
                let now_ns = now_ns();
                let slot_ns = now_ns.next_multiple_of(10 * MS) + 40 * MS + MS;
                thread::sleep(Duration::from_nanos(slot_ns + 500 * US - now_ns));
                spin(4 * MS);
            }
        });
        let before = is_ready.recv().unwrap();
        realtime.join().unwrap();
        a.join().unwrap();
        let stats = task(0).stats;
        assert_eq!(stats.overruns - before.overruns, 10);
        let stolen_us = (stats.stolen_higher_ns - before.stolen_higher_ns) / US;
        assert!((14_000..=15_500).contains(&stolen_us), "{stolen_us} us");
        drop(busy);
        assert_stands();
        end();
    });
}

#[test]
fn no_processor_idles_while_a_thread_waits() {
    DEFAULT.run(|| {
        // The processor time of a lone thread, beside a beat and after an overrun.
        let idle_ns = || {
            let stat = fs::read_to_string("/proc/stat").unwrap();
            let ticks = stat.split_whitespace().nth(4).unwrap();
            ticks.parse::<u64>().unwrap() * 10 * MS
        };
        for (jobs, job_ns) in [(100, 100 * US), (1, 1000 * MS)] {
            apply(A).ok();
            let lone = (jobs > 1).then(|| Shell::busy("lone"));
            let a = member("beat-a", jobs, move |_| spin(job_ns));
            let before_ns = idle_ns();
            a.join().unwrap();
            let idle_ns = idle_ns() - before_ns;
            // A member without the others waits for its first slot, and for one after its last job.
            assert!(idle_ns < 50 * MS, "{} ms of 1,000", idle_ns / MS);
            drop(lone);
            end();
        }
    });
}

#[test]
fn long_periods_do_not_look_like_stalls() {
    DEFAULT.run(|| {
        apply(&A.replace("10ms", "4s")).ok();
        let a = member("beat-a", 12, |_| spin(500 * US));
        assert_on_beat(&a.join().unwrap(), 4000 * MS, MS);
        assert_stands();
        end();
    });
}

#[test]
fn as_many_members_as_there_may_be() {
    DEFAULT.run(|| {
        let mut policy = String::new();
        for group in 0..16 {
            let members: Vec<String> = (0..16).map(|member| format!("m{group}-{member}")).collect();
            policy += &format!(
                "[[task]]\nname = \"group{group}\"\nperiod = \"80ms\"\nbudget = \"4ms\"\nmembers = {members:?}\n"
            );
        }
        apply(&policy).ok();
        let done = Arc::new(AtomicBool::new(false));
        let members: Vec<_> = (0..256)
            .map(|at| {
                let done = done.clone();
                thread::spawn(move || {
                    take_name(&format!("m{}-{}", at / 16, at % 16));
                    let mut jobs = 0;
                    while !done.load(SeqCst) {
                        thread::yield_now();
                        jobs += 1;
                    }
                    jobs
                })
            })
            .collect();
        sleep_ms(1000);
        assert_eq!(reservations(), 256);
        sleep_ms(1000);
        done.store(true, SeqCst);
        for member in members {
            assert!(member.join().unwrap() >= 10);
        }
        assert_stands();
        end();
    });
}

#[test]
fn links_and_tasks_are_applied_together_or_not_at_all() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        let link = |device: &str| format!("[link.{device}]\nrate = \"100mbit\"\n{A}");
        apply(&link("absent0")).ends_with(5);
        assert_eq!(state(), "disabled");
        run("tc qdisc add dev near1 root handle 8123: fq").ok();
        apply(&link("near1")).ends_with(4);
        assert_eq!(state(), "disabled");
        assert_no_trace();
        run("tc qdisc del dev near1 root").ok();
        let before = host();
        for _ in 0..2 {
            apply(&link("near1")).ok();
            assert_stands();
            wire.assert_passes();
        }
        takt("revert").ok();
        takt("revert").ok();
        assert_eq!(host(), before);
        end();
    });
}

/// Settings outside the scheduler that takt changes.
fn host() -> String {
    run("grep -r . /sys/class/net/near1/threaded /proc/sys/net/core/dev_weight \
         /proc/sys/net/core/dev_weight_rx_bias /proc/sys/net/core/netdev_budget /sys/class/net/near1/gro_flush_timeout")
    .stdout
}

#[test]
fn one_namespace_at_a_time() {
    DEFAULT.run(|| {
        apply(A).ok();
        fs::write("/lab/other.toml", B).unwrap();
        run_far("takt apply /lab/other.toml").ends_with(4);
        run_far("takt revert").ok();
        assert_stands();
        end();
    });
}

#[test]
fn the_kernel_may_end_it() {
    DEFAULT.run(|| {
        apply(A).ok();
        // The way an administrator does it.
        fs::write("/proc/sysrq-trigger", "S").unwrap();
        sleep_ms(1000);
        assert_eq!(state(), "disabled");
        apply(A).ok();
        assert_eq!(state(), "enabled");
        run("dmesg -c").ok();
        end();
    });
}

/// Either the old tables are in force or the new ones, with a record of them, and the next takt
/// works.
#[test]
fn killed_after_every_change() {
    DEFAULT.run(|| {
        let both = format!("{A}{B}");
        let mut behind = 0;
        for change in 1.. {
            apply(A).ok();
            let old = generation();
            fs::write(POLICY, &both).unwrap();
            apply_traced(Some(change));
            assert_stands();
            let record = format!("/run/takt/beats/{}.json", generation());
            let record = fs::read_to_string(record).expect("a record of what is in force");
            assert_eq!(record.contains("beat-b"), generation() != old);
            // From there on threads are matched, with one call for each.
            behind += u32::from(generation() != old);
            if behind == 3 {
                break;
            }
        }
        apply(&both).ok();
        assert_stands();
        end();
    });
}

#[test]
fn pieces_on_two_processors() {
    TWO_PROCESSORS.run(|| {
        // More than either processor has left.
        let heavy = |name: &str, cpu: u32| {
            format!(
                "[[task]]\nname = \"{name}\"\nperiod = \"40ms\"\nbudget = \"24ms\"\ncpus = \"{cpu}\"\n"
            )
        };
        let split = "[[task]]\nname = \"split\"\nperiod = \"40ms\"\nbudget = \"20ms\"\noverrun = \"stop-group\"\n";
        apply(&format!("{}{}{split}", heavy("one", 0), heavy("two", 1))).ok();
        let busy = Stress::start();
        let others = [member("one", 100, |_| spin(5 * MS)), member("two", 100, |_| spin(5 * MS))];
        let split = member("split", 60, |_| spin(10 * MS));
        // Excluded from one processor, the task uses the others.
        let excluded = split.join().unwrap();
        assert_eq!(excluded.len(), 60);
        assert_stands();
        let split = thread::spawn(|| {
            take_name("split");
            for cpu in [0, 1, 0, 1] {
                let mut cpus = CpuSet::new();
                cpus.set(cpu).unwrap();
                sched_setaffinity(Pid::from_raw(0), &cpus).unwrap();
                for _ in 0..20 {
                    spin(MS);
                    thread::yield_now();
                }
            }
        });
        split.join().unwrap();
        for other in others {
            other.join().unwrap();
        }
        assert_stands();
        drop(busy);
        end();
    });
}
