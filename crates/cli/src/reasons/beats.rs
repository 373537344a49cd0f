//! Why a thread was late, cut off or absent, by the counters of `takt status --tasks`.

super::reasons! {
MISSED = "takt::beats::missed" ["missed"]: "
Jobs that were lost: from the first of their slots until the next job no member could run. It slept, waited
for a lock or for input, or had not yet finished the beat before. The time went to ordinary threads. A
thread that wakes within its slot has the rest of it, and has missed nothing: see lateness.
";
OVERRUNS = "takt::beats::overruns" ["overruns"]: "
Jobs that were cut because the budget or the slot was over, or that had no chance to go on before it was
over: see stolen_higher_ns. `overrun` of the task says what becomes of
the thread: demote makes it an ordinary one until its next beat, signal also sends SIGXCPU, stop-group
ends its whole group, wait has it wait for its next slot. `most used` says how much budget a job took.
";
LATE = "takt::beats::late" ["lateness", "worst late edge", "edge_late_max_ns"]: "
From the moment a job was released to its first member's code. Realtime threads, interrupts and
per-CPU kernel threads run before beats. Alarms are early by what the switch takes, once some starts
have shown it. With a lead the thread is released that much before its beat and waits out the rest;
lead = \"auto\" learns it from these figures.
";
STOLEN_INTERRUPTS = "takt::beats::stolen_interrupts" ["stolen_interrupts_ns"]: "
Time that interrupts and the work they put off took while a member ran. It is charged to the budget.
Interrupts can be kept from a processor by their affinity (/proc/irq/*/smp_affinity).
";
STOLEN_HIGHER = "takt::beats::stolen_higher" ["stolen_higher_ns"]: "
Time of their slots that members lost because they had to leave the processor for a thread above the
beats: realtime classes and per-CPU kernel threads. A member that loses the rest of a slot has overrun. A slot
that such threads had from its beginning is late, and one that they had whole is neither started nor missed.
";
CUT_LATE = "takt::beats::cut_late" ["cut_late_max_ns"]: "
The longest that a thread ran beyond the end of its budget or slot before it was cut. What held the
interrupt off, held the cut off.
";
SKIPPED = "takt::beats::skipped" ["skipped"]: "
Members of a group with handoff = \"free\" passed their turn to a member that did not wait for it: it
slept. The next in order that waited had the turn.
";
STOPPED = "takt::beats::stopped" ["stopped"]: "
The group overran and its task says overrun = \"stop-group\": its threads are ordinary ones until
`takt apply` puts a policy in force.
";
BARRED = "takt::beats::barred" ["barred"]: "
A thread has a reservation, and the scheduler cannot run it in its slots: it has a policy of a higher
class (SCHED_RR, as rtkit gives it, SCHED_FIFO or SCHED_DEADLINE), may not run on the CPU that its
slots are on (its affinity or its cpuset), or is frozen or stopped. Its jobs count as missed. Give it
SCHED_OTHER (`chrt --other --pid 0 TID`), or let it run there (`taskset`); or take the reservation
from it.
";
STALLED = "takt::beats::stalled" ["stalled"]: "
The member whose turn it is stays away for whole periods, so the others would wait for ever. They
do not wait for it any more: a member that is ready has the slot, until it comes back.
";
SENT_AWAY = "takt::beats::sent_away" ["sent_away"]: "
Threads that had joined at run time and made room: `takt apply` put a policy in force whose tasks need the
time, and those come before what joined. Users' tasks go before root's, and younger ones before older ones. They
are ordinary threads, and may ask for another reservation.
";
}
