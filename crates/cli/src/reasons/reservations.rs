//! Why a thread is refused a reservation.

super::reasons! {
NOT_LOADED = "takt::place::not_loaded" ["no_beats"]: "
A member of the policy's tasks was asked for, and no policy with a [[task]] is in force. `takt apply`
one, or name period and budget: `takt run --period 40ms --budget 8ms -- CMD` needs no policy.
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
A member is one thread's at a time, and another holds it. It is free again when that thread ends
or leaves.
";
JOINED = "takt::place::joined": "
A thread has one reservation at most, and this one has one already. It must leave that first.
";
INVALID = "takt::place::invalid": "
No host could give such a reservation: the budget is longer than the period, the period is no
multiple of the grid, or the members of one group ask for different terms. The message says which.
";
MAY_NOT_JOIN = "takt::place::may_not_join" ["may_not_join"]: "
Who besides root may take reservations is said by `join` in [beats]: no user (\"none\"), the members of a group,
or every user (\"all\"). Without the key it is the group takt, which no host has before its administrator makes
it: groupadd --system takt; usermod -aG takt USER. Groups count as the process had them when it asked, so
a new member logs in again first.
";
TOO_MANY = "takt::place::too_many": "
One user may have a quarter of the time that may be assigned on all processors together, and all users
half of it. Counted is what the table reserves: budget and lead take whole slots of the grid, so 1 us is
a slot of 500 us unless the policy has a finer grid. There are limits of tasks and threads as well;
docs/beats.md has them all. What the policy declares is not counted, and root has no limits.
";
NO_ROOM = "takt::place::no_room" ["no_room"]: "
The table of time slots has no such time left on any of the processors that the thread may run on.
The message says who has it and what would fit. A share of every frame is never given away, so that
ordinary threads and protocol processing go on.
";
}
