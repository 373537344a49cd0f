/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Early alarms: how long before a slot its alarm is set, so that the thread's code runs when the
 * slot opens, and not after the time that the interrupt and the switch take.
 *
 * That time has three parts. Two are noted at every start, by what the alarm interrupts:
 *   alarm    from the alarm's time to its handler
 *   switch   from there until the scheduler has switched
 * and one is measured when the scheduler is loaded:
 *   return   from there to the thread's code
 *
 * Of each the least of the last starts counts. So no start is before its slot, if it takes no
 * less than the others did, and one that takes longer is late by the difference. Where alarms
 * differ, they are set for the late ones, and the handlers of the others wait.
 *
 * How early an alarm is set follows from all of these. It changes with few starts, and is computed
 * then, since setting an alarm is a part of what is measured.
 */
#ifndef TAKT_EARLY_H
#define TAKT_EARLY_H

#include "abi.h"

/* What an alarm interrupts. Each way from there to the thread has its own length. */
#define TAKT_FROM_IDLE 0U
#define TAKT_FROM_SLEEP 1U	/* an idle CPU that stopped its tick, and starts it first */
#define TAKT_FROM_THREAD 2U
#define TAKT_FROM_KERNEL 3U	/* a kernel thread, or one that exits: no memory map, as idle */
#define TAKT_FROM_BEAT 4U	/* a thread whose slot ends at this edge; the last */
#define TAKT_FROMS 8U		/* a power of two */

#define TAKT_EARLY_FIRST 8U	/* starts until a time is known */
#define TAKT_EARLY_WINDOW 64U	/* starts until an older one no longer counts */
#define TAKT_EARLY_MAX_NS 20000U
/* An alarm that may come late is set earlier still, by up to this much, and its handler waits. */
#define TAKT_EARLY_WAIT_NS 1000U
/* Threads start this much after the opening, or before it if the kernel's tick comes then. */
#define TAKT_EARLY_AFTER_NS 50U
#define TAKT_EARLY_BEFORE_NS 80U
/* A thread that started earlier than that, and yields so soon, found that its time had not come. */
#define TAKT_EARLY_PREMATURE_NS 90U
#define TAKT_EARLY_YIELD_NS 1000U
#define TAKT_EARLY_TICK_NS 10000U	/* a tick's handler may run so long until it is seen */

/* The least and the most of one to two windows. */
struct takt_extremes {
	u32 count;		/* of this window */
	u32 least_ns;		/* ... in this window */
	u32 most_ns;
	u32 before_least_ns;	/* ... and in the one before; 0: not known yet */
	u32 before_most_ns;
};

struct takt_early {
	struct takt_extremes alarm[TAKT_FROMS];
	struct takt_extremes change[TAKT_FROMS];	/* the switch */
	u32 return_ns[TAKT_FROMS];	/* 0: not measured */
	u32 set_ns[2];		/* takt_early_ns(), where no slot ends and where one does */
};

/* Returns whether what is known changes. */
TAKT_FN int takt_extremes_note(struct takt_extremes *took, u64 ns)
{
	u32 took_ns = (u32)takt_min(ns, 0xFFFFFFFFU);
	int changes = 1;

	if (!took->count) {
		took->least_ns = took->most_ns = took_ns;
	} else if (took_ns < took->least_ns) {
		took->least_ns = took_ns;
	} else if (took_ns > took->most_ns) {
		took->most_ns = took_ns;
	} else {
		changes = 0;
	}
	took->count++;
	if (took->count < (took->before_least_ns ? TAKT_EARLY_WINDOW : TAKT_EARLY_FIRST))
		return changes;
	took->before_least_ns = took->least_ns;
	took->before_most_ns = took->most_ns;
	took->count = 0;
	return 1;
}

/* 0: not known. */
TAKT_FN u32 takt_extremes_least_ns(const struct takt_extremes *took)
{
	if (!took->before_least_ns || !took->count)
		return took->before_least_ns;
	return (u32)takt_min(took->least_ns, took->before_least_ns);
}

TAKT_FN u32 takt_extremes_most_ns(const struct takt_extremes *took)
{
	if (!took->before_least_ns || !took->count)
		return took->before_most_ns;
	return (u32)takt_max(took->most_ns, took->before_most_ns);
}

/* When the thread's code is to run if its slot opens at this edge, and a tick was seen then. */
TAKT_FN u64 takt_early_aim_ns(u64 edge_ns, u64 tick_ns, u64 tick_period_ns)
{
	u64 since_ns = edge_ns - tick_ns;

	if (tick_ns && tick_period_ns && edge_ns > tick_ns &&
	    since_ns % tick_period_ns > tick_period_ns - TAKT_EARLY_TICK_NS)
		return edge_ns - TAKT_EARLY_BEFORE_NS;
	return edge_ns + TAKT_EARLY_AFTER_NS;
}

/* From the handler to the thread's code; 0 if it is not known. */
TAKT_FN u32 takt_early_after_ns(const struct takt_early *early, u32 from)
{
	u32 change_ns = takt_extremes_least_ns(&early->change[from & (TAKT_FROMS - 1)]);
	u32 return_ns = early->return_ns[from & (TAKT_FROMS - 1)];

	return change_ns && return_ns ? change_ns + return_ns : 0;
}

/* How long before the thread's code an alarm that interrupts this is set; 0: not known. */
TAKT_FN u32 takt_early_from_ns(const struct takt_early *early, u32 from)
{
	const struct takt_extremes *alarm = &early->alarm[from & (TAKT_FROMS - 1)];
	u32 after_ns = takt_early_after_ns(early, from);
	u64 alarm_ns = takt_extremes_least_ns(alarm);

	/* Not where a thread runs until its slot ends: it is not cut for a wait. */
	if (from != TAKT_FROM_BEAT)
		alarm_ns = takt_min(takt_extremes_most_ns(alarm), alarm_ns + TAKT_EARLY_WAIT_NS);
	return after_ns ? (u32)takt_min(after_ns + alarm_ns, TAKT_EARLY_MAX_NS) : 0;
}

/* What an alarm will interrupt is not known when it is set: takt_early_go_ns() makes up for it. */
TAKT_FN void takt_early_keep(struct takt_early *early)
{
	u32 set_ns = 0, from;

	for (from = 0; from < TAKT_FROM_BEAT; from++)
		set_ns = (u32)takt_max(set_ns, takt_early_from_ns(early, from));
	early->set_ns[0] = set_ns;
	early->set_ns[1] = (u32)takt_max(set_ns, takt_early_from_ns(early, TAKT_FROM_BEAT));
}

/* A return was measured. */
TAKT_FN void takt_early_note_return(struct takt_early *early, u32 from, u64 took_ns)
{
	u32 *return_ns = &early->return_ns[from & (TAKT_FROMS - 1)];

	if (took_ns > TAKT_EARLY_MAX_NS || (*return_ns && took_ns >= *return_ns))
		return;
	*return_ns = (u32)took_ns;
	/* Neither the tick nor that the thread before was a beat make a difference to it. */
	if (from == TAKT_FROM_THREAD || from == TAKT_FROM_BEAT) {
		early->return_ns[TAKT_FROM_THREAD] = *return_ns;
		early->return_ns[TAKT_FROM_BEAT] = *return_ns;
	} else {
		early->return_ns[TAKT_FROM_IDLE] = *return_ns;
		early->return_ns[TAKT_FROM_SLEEP] = *return_ns;
		early->return_ns[TAKT_FROM_KERNEL] = *return_ns;
	}
	takt_early_keep(early);
}

/* An alarm took so long until its handler was ready. */
TAKT_FN void takt_early_note_alarm(struct takt_early *early, u32 from, u64 took_ns)
{
	if (takt_extremes_note(&early->alarm[from & (TAKT_FROMS - 1)], took_ns))
		takt_early_keep(early);
}

/* A switch took so long from there on. */
TAKT_FN void takt_early_note_switch(struct takt_early *early, u32 from, u64 took_ns)
{
	if (takt_extremes_note(&early->change[from & (TAKT_FROMS - 1)], took_ns))
		takt_early_keep(early);
}

/*
 * How long before the thread's code the alarm is set, if the slot before it ends there or not.
 */
TAKT_FN u32 takt_early_ns(const struct takt_early *early, int after_beat)
{
	return early->set_ns[after_beat != 0];
}

/* Does a yield now mean that the thread was started too early? */
TAKT_FN int takt_early_is_premature(u64 start_ns, u64 opens_ns, u64 now_ns)
{
	return now_ns < opens_ns || (start_ns + TAKT_EARLY_PREMATURE_NS < opens_ns &&
				     now_ns < opens_ns + TAKT_EARLY_YIELD_NS);
}

/* When the handler is to go on, knowing what it interrupted. */
TAKT_FN u64 takt_early_go_ns(const struct takt_early *early, u32 from, u64 aim_ns)
{
	return aim_ns - takt_early_after_ns(early, from);
}

#endif
