/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Flow queues (RFC 8290): flows of a class that take turns, each with a queue of its own.
 *
 * To the link the class is one entity with one set of clocks; this is the order within it. A flow
 * that becomes backlogged is new: new flows go before old ones, for one quantum. So a flow that
 * sends less than its share, such as a name look-up or a call, waits for no standing queue. Old
 * flows share by deficit round robin. A new flow that empties its queue becomes old, or a sender
 * of single packets would go first every time.
 *
 * A flow without packets may be in a list; it is taken out when it is found there. The class's own
 * queue holds packets of flows that have no entity, and takes turns like a flow.
 *
 * Not here: which entity a flow has (flow_table.h), what is dropped (codel.h).
 */
#ifndef TAKT_FLOW_QUEUE_H
#define TAKT_FLOW_QUEUE_H

#include "node.h"

#define TAKT_FLOWS_NEW 0
#define TAKT_FLOWS_OLD 1

#define TAKT_FLOW_QUANTUM 1514		/* bytes of a turn: one full frame */
/* Flows that one search looks at; the next goes on from there. */
#define TAKT_FLOW_TURNS_MAX 16

/* The entity whose clocks count for this one: its class, if it takes turns there. */
TAKT_FN u32 takt_leader(struct takt_order *order, const struct takt_class_params *params, u32 id)
{
	const struct takt_entity *entity = takt_entity(order, id);

	if (id < TAKT_CLASSES)
		return id;
	/* A plan does not change how packets that are queued leave. */
	if (entity->queue.packets)
		return entity->turn.class_id ? entity->turn.class_id : id;
	return params->per_flow == TAKT_PER_FLOW_QUEUE ? entity->class_id : id;
}

TAKT_FN void takt_flow_append(struct takt_order *order, u32 class_id, u32 id, u32 to)
{
	struct takt_flow_turn *turn = &takt_entity(order, id)->turn;
	struct takt_flow_list *list = &takt_entity(order, class_id)->flows.list[to & 1];

	turn->class_id = class_id;
	turn->list = to;
	turn->next = 0;
	turn->prev = list->tail;
	if (list->tail)
		takt_entity(order, list->tail)->turn.next = id;
	else
		list->head = id;
	list->tail = id;
}

/* Take the flow out of its list, if it is in one. */
TAKT_FN_OUT int takt_flow_detach(struct takt_order *order TAKT_ARG, u32 id)
{
	struct takt_flow_turn *turn = &takt_entity(order, id)->turn;
	struct takt_flow_lists *flows = &takt_entity(order, turn->class_id)->flows;
	struct takt_flow_list *list = &flows->list[turn->list & 1];

	if (!turn->class_id)
		return 0;
	if (turn->prev)
		takt_entity(order, turn->prev)->turn.next = turn->next;
	else
		list->head = turn->next;
	if (turn->next)
		takt_entity(order, turn->next)->turn.prev = turn->prev;
	else
		list->tail = turn->prev;
	turn->class_id = 0;
	return 0;
}

/* The flow has become backlogged: it takes turns in this class from now on. */
TAKT_FN_OUT int takt_flow_begin(struct takt_order *order TAKT_ARG, u32 class_id, u32 id)
{
	struct takt_flow_turn *turn = &takt_entity(order, id)->turn;

	class_id &= TAKT_CLASSES - 1;
	if (turn->class_id == class_id)
		return 0;
	takt_flow_detach(order, id);
	turn->credit_bytes = TAKT_FLOW_QUANTUM;
	takt_flow_append(order, class_id, id, TAKT_FLOWS_NEW);
	return 0;
}

/* A packet was queued in an entity of this leader. */
TAKT_FN void takt_flow_queued(struct takt_order *order, u32 leader, u32 id, u32 len)
{
	struct takt_flow_lists *flows = &takt_entity(order, leader)->flows;

	if (leader == id) {
		/* It may still be in a class's list, without packets. */
		if (id >= TAKT_CLASSES)
			takt_flow_detach(order, id);
		return;
	}
	takt_flow_begin(order, leader, id);
	flows->packets++;
	flows->bytes += len;
}

/* A packet of the entity, which may take turns in a class, has left its queue. */
TAKT_FN void takt_flow_left(struct takt_order *order, u32 id, u32 len)
{
	struct takt_flow_turn *turn = &takt_entity(order, id)->turn;
	struct takt_flow_lists *flows = &takt_entity(order, turn->class_id)->flows;

	if (!turn->class_id)
		return;
	turn->credit_bytes -= len;
	if (turn->class_id == id)
		return;
	flows->packets--;
	flows->bytes -= len;
}

/* Bytes that wait where this entity's packets do: its own, or its class's. */
TAKT_FN u64 takt_bytes_beside(struct takt_order *order, u32 id)
{
	const struct takt_entity *entity = takt_entity(order, id);

	if (entity->turn.class_id)
		entity = takt_entity(order, entity->turn.class_id);
	return entity->queue.bytes + entity->flows.bytes;
}

/* Is it this flow's turn? If not, put it where it belongs. */
TAKT_FN int takt_flow_may_go(struct takt_order *order, u32 class_id, u32 id)
{
	struct takt_entity *flow = takt_entity(order, id);
	u32 was_new = flow->turn.list == TAKT_FLOWS_NEW;
	const struct takt_flow_list *old =
		&takt_entity(order, class_id)->flows.list[TAKT_FLOWS_OLD];

	if (flow->queue.packets && flow->turn.credit_bytes > 0)
		return 1;
	takt_flow_detach(order, id);
	if (flow->turn.credit_bytes <= 0) {
		/* Also without packets: what it has used up would be forgotten. */
		flow->turn.credit_bytes += TAKT_FLOW_QUANTUM;
	} else {
		flow->codel.dropping = 0;
		if (!was_new || !old->head)
			return 0;
	}
	takt_flow_append(order, class_id, id, TAKT_FLOWS_OLD);
	return 0;
}

/*
 * The entity whose packet goes first in the class: a flow, or the class with its own queue. 0: too
 * many had to be put elsewhere; ask again. Precondition: some flow has packets.
 */
TAKT_FN_OUT u32 takt_flow_first(struct takt_order *order TAKT_ARG, u32 class_id)
{
	struct takt_entity *leader = takt_entity(order, class_id);
	u32 i, id;

	class_id &= TAKT_CLASSES - 1;
	if (leader->queue.packets)
		takt_flow_begin(order, class_id, class_id);
	TAKT_FOR (i, 0, TAKT_FLOW_TURNS_MAX) {
		id = leader->flows.list[TAKT_FLOWS_NEW].head;
		if (!id)
			id = leader->flows.list[TAKT_FLOWS_OLD].head;
		if (!id || takt_flow_may_go(order, class_id, id))
			return id;
	}
	return 0;
}

/* The entity whose packet goes first in this one's turn, or 0: ask again. It has a packet. */
TAKT_FN u32 takt_turn_of(struct takt_order *order, u32 id)
{
	return takt_entity(order, id)->flows.packets ? takt_flow_first(order, id) : id;
}

/* May this entity queue one more packet? Flows share the limit: the fewer, the more for each. */
TAKT_FN int takt_has_room(struct takt_order *order, const struct takt_class_params *params,
			  u32 leader, u32 id)
{
	const struct takt_entity *entity = takt_entity(order, id);
	u32 packets = entity->queue.packets + entity->held_packets, all;

	if (leader == id && !entity->flows.packets)
		return packets < params->queue_packets;
	all = takt_backlog(takt_entity(order, leader));
	return all < params->queue_packets && packets < 2 * (params->queue_packets - all);
}

#endif
