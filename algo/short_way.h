/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Short ways: what most packets go through instead of takt_link_push and takt_link_pop. They lead
 * to the same state, to the bit, and touch only what such a packet needs.
 *
 *   pass   the fast path of an idle link, for a packet of a known connection
 *   join   the queue of its entity, behind others, likewise
 *   pop    of the packet that the timer was set for
 *
 * All that the plan says of such packets is looked at once in a configuration: of the link when
 * the short ways open, of an entity when its first packet comes. A frame is seldom of another
 * length than its entity's last one, so what it takes on both clocks is kept, and nothing is
 * divided.
 *
 * Where anything else might matter, the answer is 0: go the general way.
 */
#ifndef TAKT_SHORT_WAY_H
#define TAKT_SHORT_WAY_H

#include "link.h"

/*
 * A packet has gone the general way, by this plan: from now on others may go short ways. The
 * exchange is ordered before what a caller reads next: was another plan put in force meanwhile?
 */
TAKT_FN void takt_short_open(struct takt_link *link, const struct takt_plan *plan)
{
	u32 short_in = takt_known_in(link->generation, 1);

	if (!plan->fast_by_connection || link->short_in == short_in ||
	    link->plan_generation != (u32)plan->generation ||
	    link->flows.stations.unsettled | link->order.blocked.by_task.count |
		    link->order.blocked.by_weight)
		return;
	takt_link_adopt(link, plan);
	link->terms.rate_bps = plan->link.rate_bps;
	link->terms.lag_max_ns = plan->link.lag_max_ns;
	link->terms.framing = plan->framing;
	link->terms.slack_ns = plan->slack_ns;
	link->terms.changes = plan->line_min_bps != 0;
	(void)__sync_lock_test_and_set(&link->short_in, short_in);
}

/*
 * Note what a frame of this length takes, for later ones as well unless more is to be looked at
 * for each. 0: it takes too long for that.
 */
TAKT_FN_RARE int takt_short_price(struct takt_link *link, struct takt_entity *entity, u32 len,
				  u64 now_ns)
{
	u64 rate_bps = takt_line_rate_now(&link->line, link->terms.rate_bps, now_ns);
	struct takt_clock pace = {}, wire = {};

	takt_clock_advance(&wire, rate_bps, len);
	if (entity->pace_bps)
		takt_clock_advance(&pace, entity->pace_bps, len);
	if ((wire.due_ns | pace.due_ns) >> 32)
		return 0;
	entity->cost.wire_ns = wire.due_ns;
	entity->cost.wire_rem = wire.rem;
	entity->cost.pace_ns = pace.due_ns;
	entity->cost.pace_rem = pace.rem;
	entity->cost_len = link->terms.changes || entity->guarantee_bps ? TAKT_LEN_UNKNOWN : len;
	return 1;
}

/*
 * An entity has a packet that takes so many bytes. Do its packets go short ways? Then note once
 * what these need to know of its class. Returns the configuration that it is true of, or 0: short
 * ways may be closed at any time.
 */
TAKT_FN u32 takt_short_begin(struct takt_link *link, struct takt_entity *entity,
			     const struct takt_class_params *params, u32 len, u64 now_ns)
{
	u32 managed = params->target_ns && !params->spares_local;
	u32 short_in = *(volatile u32 *)&link->short_in;

	if (entity->short_in == short_in)
		return short_in;
	if (!short_in || entity->node | params->node | entity->throttled | params->gated ||
	    params->per_flow == TAKT_PER_FLOW_QUEUE || !params->queue_packets ||
	    entity->turn.class_id | entity->flows.packets ||
	    (entity->waits && entity->priority != params->priority))
		return 0;
	if (entity->priority != params->priority)
		takt_entity_move(&link->order, entity, 0, params->priority);
	entity->short_in = short_in;
	entity->pace_bps = params->ceil_bps;
	entity->guarantee_bps = takt_is_borrower(params) ? params->rate_bps : 0;
	entity->room = managed ? 0 : params->queue_packets;
	entity->is_paced = takt_is_paced(params) && !params->floor_bps && !link->terms.changes;
	entity->cost_len = TAKT_LEN_UNKNOWN;
	takt_short_price(link, entity, len, now_ns);
	return short_in;
}

/* Likewise for one on the fast path, which uses the entity's guarantee as well if that is due. */
TAKT_FN_RARE int takt_short_price_one(struct takt_link *link, struct takt_entity *entity,
				      u64 now_ns, u64 clock_ns)
{
	if (!takt_short_price(link, entity, link->fast_len, now_ns))
		return 0;
	if (entity->guarantee_bps && entity->guarantee.due_ns <= clock_ns) {
		takt_clock_start(&entity->guarantee, clock_ns);
		takt_clock_advance(&entity->guarantee, entity->guarantee_bps, link->fast_len);
	}
	return 1;
}

/*
 * The packet of link->fast_id that takes link->fast_len finds the link idle. Does it take the fast
 * path? Then charge and count it: clocks that were due before now start at now. Precondition:
 * takt_short_begin in this configuration.
 */
TAKT_FN int takt_short_pass(struct takt_link *link, struct takt_entity *entity, u64 now_ns)
{
	u64 clock_ns = now_ns - takt_node(&link->order, 0)
					->behind_ns[entity->priority & (TAKT_PRIORITIES - 1)];

	if (link->clock.due_ns >= now_ns || entity->pace.due_ns >= clock_ns || entity->waits)
		return 0;
	if (!TAKT_LIKELY(entity->cost_len == link->fast_len) &&
	    !takt_short_price_one(link, entity, now_ns, clock_ns))
		return 0;
	link->clock.due_ns = now_ns + entity->cost.wire_ns;
	link->clock.rem = entity->cost.wire_rem;
	entity->pace.due_ns = clock_ns + entity->cost.pace_ns;
	entity->pace.rem = entity->cost.pace_rem;
	takt_count_passed(entity, link->fast_len);
	takt_flow_went_idle(&link->flows, link->fast_id, now_ns);
	return 1;
}

/*
 * A packet joins others of its entity. The packet slot to keep it in, or 0: there are none, they
 * are managed, or there is no room. Precondition: as above.
 */
TAKT_FN u32 takt_short_join(struct takt_link *link, struct takt_entity *entity, u32 len)
{
	struct takt_packet_slots *slots = &link->order.slots;
	struct takt_packet *packet;
	u32 slot;

	if (!entity->queue.packets ||
	    entity->queue.packets + entity->held_packets >= entity->room)
		return 0;
	slot = takt_packet_slot_take(slots);
	if (!slot)
		return 0;
	link->queued_packets++;
	packet = takt_packet(slots, slot);
	packet->ecn = TAKT_ECN_NOT;
	packet->after = 0;
	packet->queued_us = 0;
	takt_count_arrival(entity, len);
	takt_queue_push(&entity->queue, slots, slot, len, link->generation);
	return slot;
}

/*
 * The entity that the timer was set for, if it is time, all that wait are in its calendar, it has
 * a pace and nothing else, and it stays backlogged. Else NULL.
 */
TAKT_FN struct takt_entity *takt_short_next(struct takt_link *link, u64 now_ns)
{
	struct takt_entity *entity = takt_entity(&link->order, link->next_id);
	const struct takt_packet *packet;

	if (!link->next_id || !link->foreseen || !link->wake_ns || !link->short_in ||
	    entity->short_in != link->short_in || !entity->is_paced ||
	    entity->queue.packets < 2 || link->old_packets ||
	    takt_departures_next_ns(&link->departures) <= now_ns)
		return 0;
	/* The timer was set neither before the pace was due, nor before the link is free. */
	if (now_ns < link->wake_ns || link->clock.due_ns > link->wake_ns)
		return 0;
	packet = takt_packet(&link->order.slots, entity->queue.head);
	return packet->after | packet->queued_us ? 0 : entity;
}

/*
 * Send the packet that the timer was set for, and foresee the next one: the timer is to be set
 * for link->wake_ns, if that is not near. Its packet slot, or 0: it is none of those. Precondition:
 * the fast path is empty.
 */
TAKT_FN_OUT u32 takt_short_pop(struct takt_link *link TAKT_ARG, u64 now_ns)
{
	struct takt_entity *entity = takt_short_next(link, now_ns);
	struct takt_order *order = &link->order;
	struct takt_node *root = &order->node[0];
	u64 due_ns = link->wake_ns, clock_ns;
	u32 slot, len, id, priority;

	if (!entity)
		return 0;
	priority = entity->priority & (TAKT_PRIORITIES - 1);
	clock_ns = now_ns - root->behind_ns[priority];
	slot = entity->queue.head;
	len = takt_packet(&order->slots, slot)->len;
	if (clock_ns - entity->pace.due_ns > link->terms.lag_max_ns ||
	    (!TAKT_LIKELY(entity->cost_len == len) &&
	     !takt_short_price(link, entity, len, now_ns)))
		return 0;
	takt_queue_pop(&entity->queue, &order->slots);
	link->queued_packets--;
	takt_count_sent(entity, len);
	takt_count_late(entity, now_ns - due_ns);

	takt_clock_start(&link->clock, due_ns);
	takt_clock_add(&link->clock, link->terms.rate_bps, entity->cost.wire_ns,
		       entity->cost.wire_rem);
	takt_clock_add(&entity->pace, entity->pace_bps, entity->cost.pace_ns,
		       entity->cost.pace_rem);
	takt_blocked_note(&order->blocked, priority, link->clock.due_ns - due_ns);
	takt_node_note(root, priority, link->clock.due_ns - due_ns);

	id = link->next_id & (TAKT_ENTITIES - 1);
	link->next_id = 0;
	takt_calendar_remove(&root->timed[priority], &order->shelf, id);
	takt_enter(order, &root->timed[priority], id, entity->pace.due_ns, clock_ns);
	takt_link_foresee_in(link, priority, now_ns);
	return slot;
}

#endif
