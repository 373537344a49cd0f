/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Bursts of a station: its next frames go right after its last one, so that the driver below can
 * send them together. A transmission of 802.11n and its successors costs the air some 200 us
 * whatever it carries, and drivers fill it with frames of one station that come one after another.
 *
 *   what may go on   the entity that went last by its share, as long as it waits for its share; if
 *                    that has no more frames, or went by something else, another one of the same
 *                    station. Guarantees that are due and better priorities still go before.
 *   until            it has had the plan's bytes times its weight, or TAKT_BURST_NS have passed
 *                    since it went on
 *
 * Only the order changes. A burst is charged as other frames are, so the entity's tag moves ahead,
 * and virtual time waits for the others, whose tags are behind. So an entity is ahead of its weight
 * by at most a burst instead of a frame, others make up for it, and a newcomer goes next. Bytes
 * count by weight, because a station of little weight is one whose frames take long.
 *
 * A tenant goes on for its entity. If another of its entities goes instead, the burst is over: else
 * the tenant would go on for as long as it has packets.
 */
#ifndef TAKT_BURST_H
#define TAKT_BURST_H

#include "link_state.h"

/* As long as drivers let one transmission be. */
#define TAKT_BURST_NS 4000000ULL
/* A station's entities in other classes that are looked at. */
#define TAKT_BURST_CLASSES 4

/* Has the entity whose burst it is had enough? */
TAKT_FN int takt_burst_is_over(struct takt_order *order, const struct takt_plan *plan, u64 now_ns)
{
	const struct takt_burst *burst = &order->burst;
	const struct takt_entity *entity = takt_entity(order, burst->id);
	u64 weight_bps = takt_params(plan, entity, burst->id)->weight_bps;
	u64 most_ns = plan->station_burst_bytes * TAKT_NS_PER_BYTE_AT_1BPS / weight_bps;
	u64 virtual_ns = takt_node(order, entity->node)
				 ->virtual_ns[entity->priority & (TAKT_PRIORITIES - 1)];

	return entity->share.due_ns >= virtual_ns + most_ns ||
	       now_ns - burst->since_ns >= TAKT_BURST_NS;
}

/* An entity of the same station in another class, which waits for its share; or 0. */
TAKT_FN_OUT u32 takt_burst_beside(struct takt_link *link TAKT_ARG, u32 id)
{
	u32 i;

	if (id < TAKT_FLOW_FIRST || !takt_flow(&link->flows, id)->station)
		return 0;
	for (i = 0; i < TAKT_BURST_CLASSES; i++) {
		id = takt_flow(&link->flows, id)->next_of;
		if (takt_entity(&link->order, id)->waits & TAKT_IN_SHARE)
			return id;
	}
	return 0;
}

/* The link is asked for a packet at now: does the last choice begin a burst, and does one end? */
TAKT_FN_OUT int takt_burst_renew(struct takt_link *link TAKT_ARG,
				 const struct takt_plan *plan TAKT_ARG, u64 now_ns)
{
	struct takt_burst *burst = &link->order.burst;
	struct takt_path *path = &link->path;
	u32 by = path->leaf.by, id = path->id, tenant = path->tenant;

	/* A choice counts once. */
	path->leaf.by = TAKT_BY_NOTHING;
	if (by != TAKT_BY_NOTHING && (by != TAKT_BY_BURST || burst->id != id)) {
		int goes_on = burst->id && tenant && burst->tenant == tenant;

		burst->id = by == TAKT_BY_BURST && !goes_on ? id : 0;
		burst->tenant = tenant;
		/* Not before: the device may have kept its frame while it sent others. */
		burst->since_ns = now_ns;
	}
	if (by != TAKT_BY_NOTHING && !(takt_entity(&link->order, id)->waits & TAKT_IN_SHARE)) {
		burst->id = takt_burst_beside(link, id);
		burst->tenant = plan->tenant[takt_entity(&link->order, burst->id)->node &
					     (TAKT_NODES - 1)];
	}
	if (burst->id && takt_burst_is_over(&link->order, plan, now_ns))
		burst->id = 0;
	return 0;
}

#endif
