/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An entity: a class, a flow of a class, a station in a class, or a tenant. Each has clocks.
 *
 * Its clocks answer one question each:
 *   pace       may it go at all?       (ceil; if it may not borrow, rate)
 *   guarantee  is its guarantee due?   (rate, where ceil is higher)
 *   share      what is its turn for spare capacity? (weight; virtual time)
 *   floor      is its floor due, whatever its priority?
 * Which calendar it is in follows from them, see node.h.
 */
#ifndef TAKT_ENTITY_H
#define TAKT_ENTITY_H

#include "codel.h"
#include "plan.h"
#include "queue.h"
#include "share.h"

#define TAKT_ENTITIES 16384	/* 1..4095 classes and tenants, from 4096 on flows and stations */

/* The calendars that an entity is in, with an entry for each. */
#define TAKT_IN_TIMED 1
#define TAKT_IN_SHARE 2
#define TAKT_IN_FLOORS 4
#define TAKT_IN_GATE 8
#define TAKT_IN_STATION 16	/* throttled: its station's weight is 0; no entry */
#define TAKT_IN_READY 32	/* not in timed, whose entry it takes */
#define TAKT_IN_NO_TURN (TAKT_IN_GATE | TAKT_IN_STATION)
#define TAKT_ENTRY_TIMED 0
#define TAKT_ENTRY_SHARE TAKT_ENTITIES
#define TAKT_ENTRY_FLOOR (2 * TAKT_ENTITIES)
#define TAKT_ENTRY_GATE (3 * TAKT_ENTITIES)

/*
 * Counters of a class or flow. At any time
 *   enqueued = sent + managed + thinned + flushed + queued,  offered = enqueued + dropped.
 * Packets on the fast path are both enqueued and sent: the entity counts them apart, until
 * takt_entity_sum. One that is held (departure.h) counts from its departure time on. Of a tenant,
 * only sent counts.
 */
struct takt_class_stats {
	u64 enqueued_packets, enqueued_bytes;
	u64 sent_packets, sent_bytes;
	u64 dropped_packets, dropped_bytes;	/* its queue, or the link's store, was full */
	u64 managed_packets, managed_bytes;	/* dropped from its queue by codel.h */
	u64 thinned_packets, thinned_bytes;	/* a newer one replaced them, thin.h */
	u64 marked_packets;			/* sent, with a mark due, see ecn.h */
	u64 flushed_packets, flushed_bytes;	/* discarded when the device went down */
	u64 late_max_ns;			/* worst delay behind the ideal start */
	u64 gso_packets;			/* of several frames, each paced as a whole */
	u64 long_packets;			/* of these, longer than burst_bytes */
};

/* The flows of a class that take turns, see flow_queue.h; ids of entities, 0 is none. */
struct takt_flow_list {
	u16 head, tail;
};

/* Rounds of an old list: one ends when all that were in it when it began have had their turn. */
struct takt_flow_rounds {
	u16 last;	/* the last of this round; 0: the list is empty */
	u16 count;
};

struct takt_flow_lists {
	struct takt_flow_list list[2];	/* TAKT_FLOWS_NEW, TAKT_FLOWS_OLD */
	struct takt_flow_rounds rounds;
	u32 packets;			/* in their queues, without the class's own */
	u64 bytes;
};

struct takt_flow_turn {
	s32 credit_bytes;
	u16 next, prev;
	u16 class_id;	/* in whose lists it is; 0: in none */
	u16 list;	/* TAKT_FLOWS_*: which of them */
	u16 host;	/* whose packets they are, see host.h; 0: it has a turn of its own */
	u16 round;	/* in which it was given its quantum as a new flow */
};

/* No frame is so long. */
#define TAKT_LEN_UNKNOWN (~0U)

/* What frames of one length take of the entity's pace, and of the link's clock (wire). */
struct takt_cost {
	u64 pace_rem, wire_rem;	/* in 1/rate_bps ns of each rate */
	u32 pace_ns, wire_ns;
};

/*
 * The first cache line has all that a packet on the fast path needs, if its class may not borrow.
 */
struct takt_entity {
	u16 class_id;	/* of a flow or station: the class it belongs to */
	u8 waits;	/* TAKT_IN_*: the calendars that it is in */
	u8 priority;	/* of the calendars that it is in, or was in last, with `node` */
	u32 cost_len;	/* of the frames that cost `cost`; LEN_UNKNOWN: none do */
	struct takt_cost cost;	/* see short_way.h */
	struct takt_clock pace;
	u64 passed_packets, passed_bytes;	/* on the fast path */
	struct takt_class_stats stats;	/* without these */
	u8 node;
	u8 heads;	/* of a tenant: its node */
	u8 task_prio;	/* of the task that sent last, see gate.h */
	u8 throttled;	/* its station's weight is 0 */
	/* What short ways go by, see takt_short_begin. */
	u32 short_in;		/* takt_link.short_in, in whose configuration this counts */
	u64 pace_bps;		/* 0: no ceiling */
	u64 guarantee_bps;	/* 0: it may not borrow */
	u32 room;		/* packets that its queue may have to be joined */
	u32 is_paced;		/* and nothing else */
	struct takt_clock guarantee;
	struct takt_clock share;
	struct takt_clock floor;
	struct takt_queue queue;
	struct takt_codel codel;
	struct takt_flow_lists flows;	/* of a class */
	struct takt_flow_turn turn;	/* of a flow, or of a class's own queue */
	u64 ready_ns;	/* not eligible before; 0: since it was queued */
	u32 scale_ppm;	/* its part of its class's weight; 0: all, see share.h */
	u32 held_packets; /* that wait for their departure time, see departure.h */
} __attribute__((aligned(TAKT_CACHE_LINE)));

/* Packets of the entity: its own, and of the flows that take turns in it. */
TAKT_FN u32 takt_backlog(const struct takt_entity *entity)
{
	return entity->queue.packets + entity->flows.packets;
}

/* Which clock an entity was chosen by. */
#define TAKT_BY_GUARANTEE 0
#define TAKT_BY_SHARE 1
#define TAKT_BY_FLOOR 2
#define TAKT_BY_NOTHING 3
#define TAKT_BY_BURST (4 + TAKT_BY_SHARE)	/* by its share, on a link with bursts */

TAKT_FN void takt_count_arrival(struct takt_entity *entity, u32 len)
{
	entity->stats.enqueued_packets++;
	entity->stats.enqueued_bytes += len;
}

TAKT_FN void takt_count_segment(struct takt_entity *entity,
				const struct takt_class_params *params, u32 len)
{
	entity->stats.gso_packets++;
	if (len > params->burst_bytes)
		entity->stats.long_packets++;
}

TAKT_FN void takt_count_passed(struct takt_entity *entity, u32 len)
{
	entity->passed_packets++;
	entity->passed_bytes += len;
}

TAKT_FN void takt_count_sent(struct takt_entity *entity, u32 len)
{
	entity->stats.sent_packets++;
	entity->stats.sent_bytes += len;
}

/* It was sent so long after its ideal start. */
TAKT_FN void takt_count_late(struct takt_entity *entity, u64 late_ns)
{
	if (late_ns > entity->stats.late_max_ns)
		entity->stats.late_max_ns = late_ns;
}

/* Sum up what is counted of the entity, into its stats. */
TAKT_FN void takt_entity_sum(struct takt_entity *entity)
{
	entity->stats.enqueued_packets += entity->passed_packets;
	entity->stats.enqueued_bytes += entity->passed_bytes;
	entity->stats.sent_packets += entity->passed_packets;
	entity->stats.sent_bytes += entity->passed_bytes;
	entity->passed_packets = 0;
	entity->passed_bytes = 0;
}

/* The counters of an entity that ends are added to another's. */
TAKT_FN void takt_stats_add(struct takt_class_stats *to, const struct takt_class_stats *from)
{
	to->enqueued_packets += from->enqueued_packets;
	to->enqueued_bytes += from->enqueued_bytes;
	to->sent_packets += from->sent_packets;
	to->sent_bytes += from->sent_bytes;
	to->dropped_packets += from->dropped_packets;
	to->dropped_bytes += from->dropped_bytes;
	to->managed_packets += from->managed_packets;
	to->managed_bytes += from->managed_bytes;
	to->thinned_packets += from->thinned_packets;
	to->thinned_bytes += from->thinned_bytes;
	to->marked_packets += from->marked_packets;
	to->flushed_packets += from->flushed_packets;
	to->flushed_bytes += from->flushed_bytes;
	to->late_max_ns = takt_max(to->late_max_ns, from->late_max_ns);
	to->gso_packets += from->gso_packets;
	to->long_packets += from->long_packets;
}

/* Paced: it may not borrow, so one clock is enough. */
TAKT_FN int takt_is_paced(const struct takt_class_params *params)
{
	return params->rate_bps && params->rate_bps == params->ceil_bps;
}

/* It has a guarantee, and may borrow beyond it. */
TAKT_FN int takt_is_borrower(const struct takt_class_params *params)
{
	return params->rate_bps && params->rate_bps != params->ceil_bps;
}

/* It was idle and has a packet: idle time earns no credit, on any clock. */
TAKT_FN void takt_entity_start(struct takt_entity *entity, u64 clock_ns, u64 now_ns,
			       u64 virtual_ns)
{
	takt_clock_start(&entity->pace, clock_ns);
	takt_clock_start(&entity->guarantee, clock_ns);
	takt_clock_start(&entity->share, virtual_ns);
	takt_clock_start(&entity->floor, now_ns);
}

/*
 * It has sent len bytes at now (clock_ns on its priority's clock); by that clock it was not
 * eligible before from_ns. An entity that goes by its share pays with that and keeps its
 * guarantee.
 */
TAKT_FN void takt_entity_charge(struct takt_entity *entity,
				const struct takt_class_params *params, u64 lag_max_ns,
				u64 from_ns, u64 clock_ns, u64 now_ns, u32 len, u32 by)
{
	struct takt_clock_params at = { .lag_max_ns = lag_max_ns };

	if (params->ceil_bps) {
		at.rate_bps = params->ceil_bps;
		takt_clock_spend(&entity->pace, &at, from_ns, clock_ns, len);
	}
	if (by & TAKT_BY_SHARE) {
		takt_clock_advance(&entity->share,
				   takt_share_rate(params->weight_bps, entity->scale_ppm), len);
	} else if (takt_is_borrower(params)) {
		at.rate_bps = params->rate_bps;
		takt_clock_spend(&entity->guarantee, &at, from_ns, clock_ns, len);
	}
	if (params->floor_bps) {
		/* What it got beyond the floor is not charged to the floor's clock. */
		struct takt_clock paid = { .due_ns = now_ns };

		takt_clock_advance(&paid, params->floor_bps, len);
		at.rate_bps = params->floor_bps;
		takt_clock_spend(&entity->floor, &at, 0, now_ns, len);
		if (entity->floor.due_ns > paid.due_ns)
			entity->floor = paid;
	}
}

#endif
