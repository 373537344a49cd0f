/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * CoDel (RFC 8289): drops packets of a queue that stands.
 *
 * A packet's sojourn is the time that it was queued. A queue whose sojourn stays at or above the
 * target for an interval has a standing delay that no burst explains. Then the first packet is
 * dropped, and further ones at times that get closer by the control law: after the n-th drop the
 * next comes interval / sqrt(n) later. A TCP sender's rate falls with the root of its losses, so
 * the queue drains linearly. A sojourn below the target ends it, and so does a queue of one full
 * frame or less.
 *
 * Several drops may be due at one time: ask again until the answer is no.
 */
#ifndef TAKT_CODEL_H
#define TAKT_CODEL_H

#include "abi.h"

#define TAKT_CODEL_FRAME 1514U		/* a queue of no more than this is never dropped from */
#define TAKT_CODEL_MEMORY 16		/* intervals for which a rate of drops is remembered */
#define TAKT_CODEL_ROOT_ONE (1ULL << 31)	/* 1 / sqrt(1) */
#define TAKT_CODEL_COUNT_MAX (1U << 20)

/* Packets keep the time in units of 1,024 ns; it wraps after 73 minutes. */
#define TAKT_CODEL_SHIFT 10

struct takt_codel {
	u64 above_ns;		/* the sojourn has stood for an interval then; 0: below target */
	u64 next_ns;		/* of the next drop */
	u32 count;		/* drops since it began */
	u32 count_before;	/* the count that it began at */
	u32 root;		/* 1 / sqrt(count), with 31 bits behind the point */
	u16 dropping;
	u16 l4s;		/* its flow's sender expects frequent marks, see ecn.h */
};

/* What a packet that is queued at now keeps; never 0. */
TAKT_FN u32 takt_codel_stamp(u64 now_ns)
{
	u32 stamp = now_ns >> TAKT_CODEL_SHIFT;

	return stamp ? stamp : 1;
}

/* For how long has a packet with this stamp been queued? */
TAKT_FN u64 takt_codel_sojourn(u32 stamp, u64 now_ns)
{
	s32 units = (u32)(now_ns >> TAKT_CODEL_SHIFT) - stamp;

	return units > 0 ? (u64)units << TAKT_CODEL_SHIFT : 0;
}

/*
 * One more drop: Newton's step for 1 / sqrt(count). From a count to the next the old root is close
 * enough for one step, but for the first few counts, which take the root's start.
 */
TAKT_FN void takt_codel_step(struct takt_codel *codel)
{
	u64 root = codel->root, square = root * root >> 31;
	u64 error = codel->count * square;	/* count root^2: 1 if the root is right */

	if (error >= 3 * TAKT_CODEL_ROOT_ONE)
		error = 2 * TAKT_CODEL_ROOT_ONE;
	codel->root = root * ((3 * TAKT_CODEL_ROOT_ONE - error) >> 1) >> 31;
}

/* The control law: the time of the drop after one at from_ns. */
TAKT_FN u64 takt_codel_next(const struct takt_codel *codel, u32 interval_ns, u64 from_ns)
{
	return from_ns + (interval_ns * (u64)codel->root >> 31);
}

/* The queue stands: begin to drop, at the rate of before if that was lately. */
TAKT_FN void takt_codel_begin(struct takt_codel *codel, u32 interval_ns, u64 now_ns)
{
	u32 more = codel->count - codel->count_before;
	u64 lately_ns = codel->next_ns + TAKT_CODEL_MEMORY * (u64)interval_ns;

	codel->dropping = 1;
	if (more > 1 && now_ns < lately_ns) {
		codel->count = more;
	} else {
		codel->count = 1;
		codel->root = TAKT_CODEL_ROOT_ONE;
	}
	takt_codel_step(codel);
	codel->count_before = codel->count;
	codel->next_ns = takt_codel_next(codel, interval_ns, now_ns);
}

/* A drop has emptied the queue: it stands no longer. */
TAKT_FN void takt_codel_empty(struct takt_codel *codel)
{
	codel->above_ns = 0;
}

/*
 * The packet with this sojourn is the first of its queue, and `behind` bytes wait beside it, in
 * the queues of all flows that take turns: is it to be dropped?
 */
TAKT_FN int takt_codel_drops(struct takt_codel *codel, u32 target_ns, u32 interval_ns,
			     u64 sojourn_ns, u64 behind, u64 now_ns)
{
	if (sojourn_ns < target_ns || behind <= TAKT_CODEL_FRAME) {
		codel->above_ns = 0;
		codel->dropping = 0;
		return 0;
	}
	if (!codel->above_ns) {
		codel->above_ns = now_ns + interval_ns;
		codel->dropping = 0;
		return 0;
	}
	if (now_ns < codel->above_ns)
		return 0;
	if (!codel->dropping) {
		takt_codel_begin(codel, interval_ns, now_ns);
		return 1;
	}
	if (now_ns < codel->next_ns)
		return 0;
	if (codel->count < TAKT_CODEL_COUNT_MAX)
		codel->count++;
	takt_codel_step(codel);
	codel->next_ns = takt_codel_next(codel, interval_ns, codel->next_ns);
	return 1;
}

#endif
