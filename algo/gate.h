/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The gate: background traffic yields to more important tasks, not only to more important
 * packets. After LP-LBE, section 3.2.
 *
 * Packets are processed on some CPU, at the expense of the task that it runs. A gated class's
 * packets are blocked while that task is more important than the one that sent them:
 *   eligible    prio(current) >= prio(sender), as the kernel counts, in which
 *               larger is less important; or the CPU is idle;
 *   goes first  of the blocked entities, the one with the most important sender;
 *   look again  whenever the link is asked for a packet, which every sender does
 *               by sending; and on a timer while an entity is blocked: first soon, since most
 *               tasks that come between run briefly, then after as long as it has been
 *               blocked, at most every TAKT_GATE_POLL_NS.
 *
 * The blocked entities are in blocked.h.
 */
#ifndef TAKT_GATE_H
#define TAKT_GATE_H

#include "abi.h"

/*
 * A task's priority: the kernel's task->prio plus 2, so that SCHED_DEADLINE is 1,
 * real time 2 to 101, nice -20 to 19 is 102 to 141.
 */
#define TAKT_TASK_UNKNOWN 0	/* a packet without a local sender; no task to compare */
#define TAKT_TASK_FIRST 1
#define TAKT_TASK_IDLE 142	/* SCHED_IDLE, whatever its nice value */
#define TAKT_CPU_IDLE 255	/* the CPU is idle */

/* The longest interval at which blocked entities are looked at: with a late timer, within 1 ms. */
#define TAKT_GATE_POLL_NS 900000
/* The shortest: some times the cost of looking. */
#define TAKT_GATE_POLL_FIRST_NS 50000

TAKT_FN u32 takt_task_prio(int prio, u32 sched_idle)
{
	if (sched_idle)
		return TAKT_TASK_IDLE;
	return prio < -1 ? TAKT_TASK_FIRST : prio > 139 ? 141 : (u32)(prio + 2);
}

/* May a CPU that runs this task process packets of that sender? */
TAKT_FN int takt_gate_is_open(u32 running, u32 sender)
{
	return !running || !sender || running >= sender;
}

#endif
