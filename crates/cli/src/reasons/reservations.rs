//! Why a thread is refused a reservation.

super::reasons! {
NOT_LOADED = "takt::place::not_loaded" ["no_beats"]: "
A member of a task was requested, but no policy with a [[task]] is in force. `takt apply` one, or
name period and budget: `takt run --period 40ms --budget 8ms -- CMD` needs no policy.
";
NO_TASK = "takt::place::no_task": "
The policy in force has no task of that name; the message lists those it has.
";
NO_MEMBER = "takt::place::no_member": "
The task has no member of that name; the message lists those it has, in the order in which they
hand over.
";
GROUP = "takt::place::group": "
The task is a group, whose members share one budget and hand over to each other. A thread reserves
one of them, so say which.
";
TAKEN = "takt::place::taken": "
Only one thread can hold a member at a time, and another one holds it. It is free when that thread
ends or leaves.
";
JOINED = "takt::place::joined": "
A thread can have only one reservation, and this one has one already. It must leave that one first.
";
INVALID = "takt::place::invalid": "
No host could grant such a reservation: the budget is longer than the period, the period is no
multiple of the grid, or the members of one group ask for different terms. The message says which.
";
MAY_NOT_JOIN = "takt::place::may_not_join" ["may_not_join"]: "
`join` in [beats] says who besides root may take reservations: no user (\"none\"), the members of a
group, or every user (\"all\"). Without the key it is the group takt, which no host has before its
administrator makes it: groupadd --system takt; usermod -aG takt USER. The groups of the process
count, so a new member of the group must log in again first.
";
TOO_MANY = "takt::place::too_many": "
One user may reserve a quarter of the assignable time of all processors together, and all users half
of it. The reserved slots count: budget and lead take whole slots of the grid, so 1 us takes a slot
of 500 us unless the policy has a finer grid. Tasks and threads are limited as well; docs/beats.md
lists all limits. Tasks of the policy do not count, and root has no limits.
";
NO_ROOM = "takt::place::no_room" ["no_room"]: "
The table of time slots has no such time left on any processor that the thread may run on. The
message says who holds it and what would fit. A share of every frame is never assigned, so that
ordinary threads and protocol processing continue.
";
}
