/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Entities blocked by the gate (gate.h), and how long the background has waited.
 *
 * Blocked entities are in a calendar whose time is the priority of the task that sent. So the
 * most important sender is first, and one comparison tells whether the gate is open for any.
 */
#ifndef TAKT_BLOCKED_H
#define TAKT_BLOCKED_H

#include "calendar.h"
#include "entity.h"
#include "gate.h"

#define TAKT_BLOCKED_BUCKETS 256	/* one for each priority of a task */

struct takt_blocked {
	struct takt_calendar by_task;
	u64 since_ns;		/* since when some entity is blocked, without a break */
	u32 running;		/* priority of the task on this CPU */
	u32 backlogged;		/* background entities, backlogged and not blocked */
	u32 by_weight;		/* entities throttled by their station's weight of 0 */
	u32 pad;
	u64 blocks;		/* times that an entity was blocked */
	u64 task_ns;		/* while any was blocked: a more important task ran */
	u64 link_ns;		/* that others used the link while the background waited */
};

/* Does the gate block the entity, which has these parameters? */
TAKT_FN int takt_is_blocked(const struct takt_blocked *blocked,
			    const struct takt_class_params *params,
			    const struct takt_entity *entity)
{
	return params->gated && !takt_gate_is_open(blocked->running, entity->task_prio);
}

/* Has an entity been blocked for so long that the helper should be called to open the gate? */
TAKT_FN int takt_blocked_long(const struct takt_blocked *blocked, u64 now_ns)
{
	return blocked->by_task.count && blocked->since_ns + TAKT_GATE_POLL_NS <= now_ns;
}

/* In which time to look again at what is blocked. */
TAKT_FN u64 takt_blocked_poll_ns(const struct takt_blocked *blocked, u64 now_ns)
{
	u64 ns = now_ns > blocked->since_ns ? now_ns - blocked->since_ns : 0;

	return ns < TAKT_GATE_POLL_FIRST_NS ? TAKT_GATE_POLL_FIRST_NS :
	       ns < TAKT_GATE_POLL_NS ? ns : TAKT_GATE_POLL_NS;
}

/* A frame of this priority has the link for so long. */
TAKT_FN void takt_blocked_note(struct takt_blocked *blocked, u32 priority, u64 takes_ns)
{
	if (blocked->backlogged && priority != TAKT_BACKGROUND)
		blocked->link_ns += takes_ns;
}

/* The first blocked entity, if the gate is open for it, or 0. */
TAKT_FN u32 takt_blocked_first(struct takt_blocked *blocked, struct takt_shelf *shelf)
{
	u64 unused;
	u32 id;

	if (!blocked->by_task.count)
		return 0;
	id = takt_calendar_first(&blocked->by_task, shelf, 0, &unused);
	if (!takt_gate_is_open(blocked->running, takt_entry(shelf, id)->due_ns))
		return 0;
	return id & (TAKT_ENTITIES - 1);
}

TAKT_FN void takt_block(struct takt_blocked *blocked, struct takt_shelf *shelf, u32 id,
			const struct takt_entity *entity, u64 now_ns)
{
	u32 entry = TAKT_ENTRY_GATE + (id & (TAKT_ENTITIES - 1));

	if (!blocked->by_task.count)
		blocked->since_ns = now_ns;
	blocked->blocks++;
	takt_entry(shelf, entry)->due_ns = entity->task_prio;
	takt_calendar_insert(&blocked->by_task, shelf, entry, 0);
}

TAKT_FN void takt_unblock(struct takt_blocked *blocked, struct takt_shelf *shelf, u32 id,
			  u64 now_ns)
{
	takt_calendar_remove(&blocked->by_task, shelf,
			     TAKT_ENTRY_GATE + (id & (TAKT_ENTITIES - 1)));
	if (!blocked->by_task.count && now_ns > blocked->since_ns)
		blocked->task_ns += now_ns - blocked->since_ns;
}

#endif
