/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The time-slot table: which task may run now, and when to look again? After HiTactix, section
 * 2.1: a frame of time is divided into time slots, a table names the task of each, and the table
 * decides at every edge.
 *
 *   A CPU's frame repeats from 0 of the table's clock on (exact.h). A slot is released at
 *       k * frame + release,  its beat is at  k * frame + beat,
 *   and it ends at  k * frame + end. Time between slots is free. A frame may be a fraction of
 *   nanoseconds (exact.h): all these edges are less than 2 ns late, and none is early.
 *
 * Every edge follows from the table and the frame's number, never from when a timer fired. So a
 * late timer delays one start, and there is no drift.
 *
 * Not here: how tables are made (the planner), and which thread of a task runs (turns.h).
 */
#ifndef TAKT_SLOTS_H
#define TAKT_SLOTS_H

#include "exact.h"

#define TAKT_TABLE_SLOTS 4096U		/* of one CPU's frame */
#define TAKT_FRAME_MAX_NS TAKT_EXACT_MAX_NS
#define TAKT_NO_TASK 0xFFFFFFFFU

struct takt_slot {
	u32 release_ns;		/* within the frame; the beat, or the lead before it */
	u32 beat_ns;		/* when the task is to begin */
	u32 end_ns;		/* above release_ns; at most the frame */
	u32 task;
};

/* Slots are in order and do not overlap. No slots: all time is free. */
struct takt_table {
	struct takt_exact frame;
	u32 frame_ns;		/* without the fraction */
	u32 slot_count;
	struct takt_slot slots[TAKT_TABLE_SLOTS];
};

/* A slot at a position in time. */
struct takt_span {
	u64 release_ns;
	u64 beat_ns;
	u64 end_ns;
	u32 task;		/* TAKT_NO_TASK: no slot, now or later */
	u32 hint;		/* index in the table, where the next search begins */
};

TAKT_FN int takt_span_is_open(const struct takt_span *span, u64 now_ns)
{
	return span->task != TAKT_NO_TASK && now_ns >= span->release_ns && now_ns < span->end_ns;
}

/* The span's next edge: when it opens or, if it is open, when it ends. */
TAKT_FN u64 takt_span_edge(const struct takt_span *span, u64 now_ns)
{
	if (span->task == TAKT_NO_TASK)
		return TAKT_TIME_NEVER;
	return now_ns < span->release_ns ? span->release_ns : span->end_ns;
}

/* The beginning of the frame that now lies in. */
TAKT_FN u64 takt_frame_start(const struct takt_table *table, u64 now_ns)
{
	if (!table->frame_ns)
		return now_ns;
	return takt_exact_edge_ns(&table->frame, takt_exact_count(&table->frame, now_ns));
}

/* ... and of the one after it. */
TAKT_FN u64 takt_frame_next(const struct takt_table *table, u64 start_ns)
{
	return takt_exact_edge_ns(&table->frame, takt_exact_count(&table->frame, start_ns) + 1);
}

/* Is this the first slot that ends after this time of the frame? */
TAKT_FN int takt_slot_is_next(const struct takt_table *table, u32 at, u32 at_ns)
{
	const struct takt_slot *slots = table->slots;

	return at < table->slot_count && slots[at & (TAKT_TABLE_SLOTS - 1)].end_ns > at_ns &&
	       (!at || slots[(at - 1) & (TAKT_TABLE_SLOTS - 1)].end_ns <= at_ns);
}

/* Does another slot open as soon as this one ends? */
TAKT_FN int takt_slot_is_followed(const struct takt_table *table, u32 at)
{
	const struct takt_slot *slots = table->slots;
	u32 end_ns = slots[at & (TAKT_TABLE_SLOTS - 1)].end_ns;

	if (at + 1 < table->slot_count)
		return slots[(at + 1) & (TAKT_TABLE_SLOTS - 1)].release_ns == end_ns;
	return end_ns == table->frame_ns && !slots[0].release_ns;
}

/* The slot after this one; after the last, the first of the next frame. */
TAKT_FN const struct takt_slot *takt_slot_after(const struct takt_table *table, u32 at)
{
	u32 next = at + 1 < table->slot_count ? at + 1 : 0;

	return &table->slots[next & (TAKT_TABLE_SLOTS - 1)];
}

/* When the slot after this span's opens. */
TAKT_FN u64 takt_span_next_release(const struct takt_table *table, const struct takt_span *span)
{
	u32 at = span->hint;
	u64 start_ns = span->beat_ns - table->slots[at & (TAKT_TABLE_SLOTS - 1)].beat_ns;

	if (at + 1 >= table->slot_count)
		start_ns = takt_frame_next(table, start_ns);
	return start_ns + takt_slot_after(table, at)->release_ns;
}

/*
 * The slot that is open now, or the next to open: the next edge belongs to it. Mostly it is the
 * last one found or the one after it. The search for any other keeps its index in memory, so that
 * the verifier does not follow each of its paths.
 */
TAKT_FN_OUT int takt_table_lookup(const struct takt_table *table TAKT_ARG, u64 now_ns,
				  struct takt_span *span TAKT_ARG)
{
	volatile u32 *hint = &span->hint;
	const struct takt_slot *slot;
	u64 start_ns;
	u32 at_ns, at, half;

	span->task = TAKT_NO_TASK;
	if (!table->frame_ns || !table->slot_count)
		return 0;
	start_ns = takt_frame_start(table, now_ns);
	at_ns = now_ns - start_ns;
	at = *hint;
	if (!takt_slot_is_next(table, at, at_ns) && !takt_slot_is_next(table, ++at, at_ns)) {
		/* Count the slots that have ended. */
		*hint = 0;
		for (half = TAKT_TABLE_SLOTS / 2; half; half /= 2) {
			u32 last = *hint + half - 1;

			if (last < table->slot_count &&
			    table->slots[last & (TAKT_TABLE_SLOTS - 1)].end_ns <= at_ns)
				*hint = last + 1;
		}
		at = *hint;
		if (!takt_slot_is_next(table, at, at_ns)) {
			at = 0;
			start_ns = takt_frame_next(table, start_ns);
		}
	}
	slot = &table->slots[at & (TAKT_TABLE_SLOTS - 1)];
	span->release_ns = start_ns + slot->release_ns;
	span->beat_ns = start_ns + slot->beat_ns;
	span->end_ns = start_ns + slot->end_ns;
	span->task = slot->task;
	*hint = at;
	return 1;
}

#endif
