/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Departure times: packets that may not leave before a time that their sender or a tc program has
 * stamped on them (EDT, the earliest departure time; SO_TXTIME, TCP's pacing, bpf_skb_set_tstamp).
 *
 * Such a packet is held until then, and enters its entity's queue as if it arrived at that moment.
 * So it holds up no other packet, its class earns no credit while it waits, and queue management
 * does not count the time. Held packets are a binary heap: earliest first, equal times in order of
 * arrival.
 *
 * A socket's pacing rate (SO_MAX_PACING_RATE) becomes departure times here if its protocol makes
 * none: all but TCP, as in the kernel's fq.
 */
#ifndef TAKT_DEPARTURE_H
#define TAKT_DEPARTURE_H

#include "plan.h"

#define TAKT_HELD_MAX 16384		/* packets of a link; a power of two */
#define TAKT_HEAP_DEPTH 14		/* of a heap with so many */
/* A pacing rate delays the next packet by this at most; fq has the same bound. */
#define TAKT_PACING_STEP_MAX_NS 1000000000ULL

struct takt_departure {
	u64 due_ns;
	u32 order;	/* of arrival */
	u16 slot;	/* the packet */
	u16 id;		/* its entity */
};

struct takt_departures {
	u32 count;
	u32 orders;
	/* An index of the heap, kept here since the verifier would follow each value of it. */
	u32 at;
	u32 pad;
	u64 held_packets;	/* that were ever held */
	u64 beyond_packets;	/* whose time was beyond the horizon */
	u64 no_room_packets;	/* that left at once, as too many were held */
	struct takt_departure heap[TAKT_HELD_MAX];
};

TAKT_FN struct takt_departure *takt_departure(struct takt_departures *departures, u32 at)
{
	return &departures->heap[at & (TAKT_HELD_MAX - 1)];
}

TAKT_FN int takt_departs_before(const struct takt_departure *a, const struct takt_departure *b)
{
	if (a->due_ns != b->due_ns)
		return a->due_ns < b->due_ns;
	return (s32)(a->order - b->order) < 0;
}

/* When the first held packet may leave, or TIME_NEVER. */
TAKT_FN u64 takt_departures_next_ns(const struct takt_departures *departures)
{
	return departures->count ? departures->heap[0].due_ns : TAKT_TIME_NEVER;
}

/* Hold a packet. Precondition: fewer than TAKT_HELD_MAX are held. */
TAKT_FN_OUT int takt_departures_hold(struct takt_departures *departures TAKT_ARG, u64 due_ns,
				     u32 slot, u32 id)
{
	struct takt_departure held = {
		.due_ns = due_ns, .order = departures->orders++, .slot = slot, .id = id,
	};
	u32 i;

	departures->at = departures->count++;
	TAKT_FOR (i, 0, TAKT_HEAP_DEPTH) {
		u32 at = departures->at, above = (at - 1) / 2;

		if (!at || !takt_departs_before(&held, takt_departure(departures, above)))
			break;
		*takt_departure(departures, at) = *takt_departure(departures, above);
		departures->at = above;
	}
	*takt_departure(departures, departures->at) = held;
	departures->held_packets++;
	return 0;
}

/* Remove the first held packet. Precondition: there is one. */
TAKT_FN_OUT int takt_departures_remove_first(struct takt_departures *departures TAKT_ARG)
{
	u32 count = --departures->count, i;
	struct takt_departure last = *takt_departure(departures, count);

	departures->at = 0;
	TAKT_FOR (i, 0, TAKT_HEAP_DEPTH) {
		u32 at = departures->at, below = 2 * at + 1;

		if (below >= count)
			break;
		if (below + 1 < count &&
		    takt_departs_before(takt_departure(departures, below + 1),
					takt_departure(departures, below)))
			below++;
		if (!takt_departs_before(takt_departure(departures, below), &last))
			break;
		*takt_departure(departures, at) = *takt_departure(departures, below);
		departures->at = below;
	}
	*takt_departure(departures, departures->at) = last;
	return 0;
}

/*
 * The departure time that a socket's pacing rate gives to a packet of this length. *next_ns is the
 * flow's earliest time for its next packet.
 */
TAKT_FN u64 takt_departure_paced(u64 *next_ns, u64 pacing_bps, u32 len, u64 now_ns)
{
	u64 due_ns = takt_max(*next_ns, now_ns);

	*next_ns = due_ns + takt_min(len * TAKT_NS_PER_BYTE_AT_1BPS / pacing_bps,
				     TAKT_PACING_STEP_MAX_NS);
	return due_ns;
}

/*
 * The departure time that holds for a stamp: itself, 0 if it has passed, or at most the horizon's
 * end. TIME_NEVER: the packet is dropped, as its stamp is beyond that.
 */
TAKT_FN u64 takt_departure_stamped(struct takt_departures *departures,
				   const struct takt_plan *plan, u64 stamp_ns, u64 now_ns)
{
	if (stamp_ns <= now_ns)
		return 0;
	if (stamp_ns - now_ns <= plan->horizon_ns)
		return stamp_ns;
	departures->beyond_packets++;
	return plan->horizon_caps ? now_ns + plan->horizon_ns : TAKT_TIME_NEVER;
}

#endif
