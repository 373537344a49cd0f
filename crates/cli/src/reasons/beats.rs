//! Why a thread was late, cut off or absent, by the counters of `takt status --tasks`.

super::reasons! {
MISSED = "takt::beats::missed" ["missed"]: "
Jobs that were lost: no member could run from the first of their slots until the next job. The
thread slept, waited for a lock or for input, or had not finished the previous beat. The time went
to ordinary threads. A thread that wakes within its slot gets the rest of it and misses nothing: see
lateness.
";
OUTSIDE = "takt::beats::outside" ["outside", "wakes_at_ns"]: "
Jobs whose thread woke when no slot of its task was open. The thread sleeps by its own clock, and that
clock has another phase than the task. The job is done, by an ordinary thread. wakes_at_ns is when
within its period the thread last woke: give the task an `offset` of that, rounded down to the grid,
and it wakes within its slot.
";
OVERRUNS = "takt::beats::overruns" ["overruns"]: "
Jobs that were cut because the budget or the slot was over, or that could not continue before its
end: see stolen_higher_ns. `overrun` of the task says what happens to the thread: demote makes it an
ordinary one until its next beat, signal also sends SIGXCPU, stop-group stops its whole group, wait
makes it wait for its next slot. `most used` is the most budget that a job took.
";
LATE = "takt::beats::late" ["lateness", "worst late edge", "edge_late_max_ns"]: "
The time from the release of a job until its first member runs. Realtime threads, interrupts and
per-CPU kernel threads run before beats. Timers fire early by the measured time of the switch. With
a lead the thread is released that much earlier and spins until the beat; lead = \"auto\" learns the
lead from these figures.
";
STOLEN_INTERRUPTS = "takt::beats::stolen_interrupts" ["stolen_interrupts_ns"]: "
Time that interrupts and their deferred work took while a member ran. It is charged to the budget.
The affinity of interrupts keeps them off a processor (/proc/irq/*/smp_affinity).
";
STOLEN_HIGHER = "takt::beats::stolen_higher" ["stolen_higher_ns"]: "
Slot time that members lost to threads above the beats: realtime classes and per-CPU kernel threads.
A member that loses the rest of a slot has overrun. A slot that such threads hold at its beginning
starts late; one that they hold completely is neither started nor missed.
";
CUT_LATE = "takt::beats::cut_late" ["cut_late_max_ns"]: "
The longest time that a thread ran beyond the end of its budget or slot. Whatever delays the timer
interrupt delays the cut.
";
SKIPPED = "takt::beats::skipped" ["skipped"]: "
Members of a group with handoff = \"free\" passed their turn to a member that was asleep. The next
waiting member in order got the turn.
";
STOPPED = "takt::beats::stopped" ["stopped"]: "
The group overran and its task says overrun = \"stop-group\": its threads are ordinary ones until
`takt apply` puts a policy in force.
";
BARRED = "takt::beats::barred" ["barred"]: "
A thread has a reservation, but the scheduler cannot run it in its slots: it has a scheduling policy
of a higher class (SCHED_RR, as rtkit gives it, SCHED_FIFO or SCHED_DEADLINE), may not run on the
CPU that its slots are on (its affinity or its cpuset), or is frozen or stopped. Its jobs count as
missed. Give it SCHED_OTHER (`chrt --other --pid 0 TID`), allow it on that CPU (`taskset`), or
remove its reservation.
";
STALLED = "takt::beats::stalled" ["stalled"]: "
The member whose turn it is has been absent for whole periods, so the others would wait forever.
They no longer wait for it: a ready member gets the slot until the absent one returns.
";
SENT_AWAY = "takt::beats::sent_away" ["sent_away"]: "
Threads that had joined at run time and lost their reservation: `takt apply` put a policy in force
whose tasks need the time, and tasks of the policy have precedence. Users' tasks are evicted before
root's, and newer ones before older ones. The threads are ordinary ones now, and may ask for another
reservation.
";
}
