/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Who is held by the gate (gate.h), and for how long the background has waited.
 *
 * Elements that are held stand in a calendar whose time is the priority of the
 * task that sent: whether the gate is open for anybody is one comparison, however
 * many are held, and the most important sender is first.
 */
#ifndef TAKT_HELD_H
#define TAKT_HELD_H

#include "calendar.h"
#include "element.h"
#include "gate.h"

#define TAKT_HELD_BUCKETS 256	/* one for each priority of a task */

struct takt_held {
	struct takt_calendar by_task;
	u64 since_ns;		/* somebody has been held, without a break */
	u32 running;		/* priority of the task on the CPU that looks now */
	u32 waiting;		/* elements in the background that wait only for the link */
	u32 by_weight;		/* elements that are held as their station's weight is 0 */
	u32 pad;
	u64 holds;		/* times that an element was held */
	u64 task_ns;		/* while anybody was held: a more important task ran */
	u64 link_ns;		/* that others took the link while the background waited for it */
};

/* Is the gate closed for the element, which follows these parameters? */
TAKT_FN int takt_is_held(const struct takt_held *held, const struct takt_class_params *params,
			 const struct takt_element *element)
{
	return params->gated && !takt_gate_is_open(held->running, element->task_prio);
}

/* Is anybody held for so long that somebody should be called who could open? */
TAKT_FN int takt_held_long(const struct takt_held *held, u64 now_ns)
{
	return held->by_task.count && held->since_ns + TAKT_GATE_POLL_NS <= now_ns;
}

/* Is it open for anybody who is held? */
TAKT_FN u32 takt_held_first(struct takt_held *held, struct takt_shelf *shelf)
{
	u64 unused;
	u32 id;

	if (!held->by_task.count)
		return 0;
	id = takt_calendar_first(&held->by_task, shelf, 0, &unused);
	if (!takt_gate_is_open(held->running, takt_entry(shelf, id)->due_ns))
		return 0;
	return id & (TAKT_ELEMENTS - 1);
}

TAKT_FN void takt_hold(struct takt_held *held, struct takt_shelf *shelf, u32 id,
		       const struct takt_element *element, u64 now_ns)
{
	u32 entry = TAKT_ENTRY_GATE + (id & (TAKT_ELEMENTS - 1));

	if (!held->by_task.count)
		held->since_ns = now_ns;
	held->holds++;
	takt_entry(shelf, entry)->due_ns = element->task_prio;
	takt_calendar_insert(&held->by_task, shelf, entry, 0);
}

TAKT_FN void takt_let_go(struct takt_held *held, struct takt_shelf *shelf, u32 id, u64 now_ns)
{
	takt_calendar_remove(&held->by_task, shelf, TAKT_ENTRY_GATE + (id & (TAKT_ELEMENTS - 1)));
	if (!held->by_task.count && now_ns > held->since_ns)
		held->task_ns += now_ns - held->since_ns;
}

#endif
