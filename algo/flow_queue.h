/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Flow queues (RFC 8290): flows of a class that take turns, each with a queue of its own.
 *
 * To the link the class is one entity with one set of clocks; this is the order within it. A flow
 * that becomes backlogged is new: new flows go before old ones, for one quantum. So a flow that
 * sends less than its share, such as a name look-up or a call, waits for no standing queue. Old
 * flows share by deficit round robin. A new flow that empties its queue becomes old, or a sender
 * of single packets would go first every time. Until its turn comes it still goes first with what
 * is left of its quantum: acknowledgements, which come one by one, wait for no round of data.
 *
 * Where flows have hosts (host.h), hosts share by deficit round robin, and the old flows of a host
 * share its turn. New flows of all hosts still go first, and their packets count for their host as
 * well: while it owes bytes, its new flows wait for its turn. Short packets do so when it owes two
 * quanta: else acknowledgements would wait for what another host sends. So neither many flows nor
 * many short ones give a host more than its share.
 *
 *   class    new: flows      old: hosts, and flows without one
 *   host     new: flows that came while it owed      old: flows
 *
 * A flow without packets may be in a list; it is taken out when it is found there, and so is a host
 * without flows. The class's own queue holds packets of flows that have no entity, and takes turns
 * like a flow.
 *
 * Not here: which entity a flow has (flow_table.h), what is dropped (codel.h).
 */
#ifndef TAKT_FLOW_QUEUE_H
#define TAKT_FLOW_QUEUE_H

#include "node.h"

#define TAKT_FLOWS_NEW 0
#define TAKT_FLOWS_OLD 1
#define TAKT_FLOWS_OF_HOST 2	/* its host's list, not its class's */
#define TAKT_FLOWS_UNSPENT 4	/* old without packets, with a part of its quantum as a new one */

/* While a host owes bytes, its new flows wait, but for short packets until it owes this much. */
#define TAKT_SHORT_BYTES (TAKT_FLOW_QUANTUM / 4)
#define TAKT_HOST_DEBT_MAX (2 * TAKT_FLOW_QUANTUM)

/* Flows and hosts that one search looks at; the next goes on from there. */
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

/*
 * The turn of a flow, a class's own queue, or a host. The compiler must not conclude from the
 * comparison that a mask is redundant: the verifier needs it.
 */
TAKT_FN struct takt_flow_turn *takt_turn(struct takt_order *order, u32 id)
{
	int is_host = id >= TAKT_HOST_FIRST;

	asm volatile("" : "+r"(id));
	return is_host ? &takt_host(&order->hosts, id)->turn : &takt_entity(order, id)->turn;
}

/* The list that it is in, or is about to join. */
TAKT_FN struct takt_flow_list *takt_turn_list(struct takt_order *order,
					      const struct takt_flow_turn *turn)
{
	struct takt_flow_list *list = takt_entity(order, turn->class_id)->flows.list;

	if (turn->list & TAKT_FLOWS_OF_HOST)
		list = takt_host(&order->hosts, turn->host)->list;
	return &list[turn->list & 1];
}

/* Rounds of the old list of this host, or of this class if it is none. */
TAKT_FN struct takt_flow_rounds *takt_flow_rounds(struct takt_order *order, u32 class_id, u32 host)
{
	return host ? &takt_host(&order->hosts, host)->rounds :
		      &takt_entity(order, class_id)->flows.rounds;
}

/* Append it to this list. Precondition: it is in none. */
TAKT_FN_OUT int takt_turn_append(struct takt_order *order TAKT_ARG, u32 class_id, u32 id, u32 to)
{
	struct takt_flow_turn *turn = takt_turn(order, id);
	struct takt_flow_rounds *rounds;
	struct takt_flow_list *list;

	turn->class_id = class_id;
	turn->list = to;
	turn->next = 0;
	list = takt_turn_list(order, turn);
	turn->prev = list->tail;
	if (list->tail)
		takt_turn(order, list->tail)->next = id;
	else
		list->head = id;
	list->tail = id;
	rounds = takt_flow_rounds(order, class_id, to & TAKT_FLOWS_OF_HOST ? turn->host : 0);
	if ((to & TAKT_FLOWS_OLD) && !rounds->last)
		rounds->last = id;
	return 0;
}

/* Take it out of its list. Precondition: it is in one. */
TAKT_FN_OUT int takt_turn_unlink(struct takt_order *order TAKT_ARG, u32 id)
{
	struct takt_flow_turn *turn = takt_turn(order, id);
	struct takt_flow_list *list = takt_turn_list(order, turn);
	struct takt_flow_rounds *rounds =
		takt_flow_rounds(order, turn->class_id,
				 turn->list & TAKT_FLOWS_OF_HOST ? turn->host : 0);

	if (turn->prev)
		takt_turn(order, turn->prev)->next = turn->next;
	else
		list->head = turn->next;
	if (turn->next)
		takt_turn(order, turn->next)->prev = turn->prev;
	else
		list->tail = turn->prev;
	if ((turn->list & TAKT_FLOWS_OLD) && rounds->last == id) {
		rounds->count += !turn->prev;
		rounds->last = turn->prev ? turn->prev : list->tail;
	}
	turn->class_id = 0;
	return 0;
}

/* Take the flow out of its list, if it is in one. */
TAKT_FN_OUT int takt_flow_detach(struct takt_order *order TAKT_ARG, u32 id)
{
	struct takt_flow_turn *turn = &takt_entity(order, id)->turn;
	struct takt_host *host = takt_host(&order->hosts, turn->host);

	if (!turn->class_id)
		return 0;
	takt_turn_unlink(order, id & (TAKT_ENTITIES - 1));
	if (!turn->host)
		return 0;
	turn->host = 0;
	host->flows--;
	takt_host_settle(host);
	return 0;
}

/* Append the flow to a list of its host, which takes turns from now on, or to its class's. */
TAKT_FN void takt_flow_append(struct takt_order *order, u32 class_id, u32 id, u32 to)
{
	u32 host = takt_entity(order, id)->turn.host;

	if (host) {
		to |= TAKT_FLOWS_OF_HOST;
		if (!takt_host(&order->hosts, host)->turn.class_id)
			takt_turn_append(order, class_id, host, TAKT_FLOWS_OLD);
	}
	takt_turn_append(order, class_id, id, to);
}

/* Does its host owe so much that this new flow waits? */
TAKT_FN int takt_host_owes(struct takt_order *order, u32 id)
{
	const struct takt_entity *flow = takt_entity(order, id);
	s32 credit_bytes = takt_host(&order->hosts, flow->turn.host)->turn.credit_bytes;
	u32 len = flow->queue.packets ? takt_packet(&order->slots, flow->queue.head)->len : 0;

	if (!flow->turn.host || credit_bytes > 0)
		return 0;
	return len > TAKT_SHORT_BYTES || credit_bytes <= -TAKT_HOST_DEBT_MAX;
}

/*
 * The flow has become backlogged: it takes turns in this class from now on. `host`: the number of
 * its host, or 0. Precondition: it takes none there.
 */
TAKT_FN_OUT int takt_flow_begin(struct takt_order *order TAKT_ARG, u32 class_id, u32 id, u64 host)
{
	struct takt_flow_turn *turn = &takt_entity(order, id)->turn;

	class_id &= TAKT_CLASSES - 1;
	id &= TAKT_ENTITIES - 1;
	takt_flow_detach(order, id);
	turn->host = host ? takt_host_find(&order->hosts, host, class_id) : 0;
	if (turn->host)
		takt_host(&order->hosts, turn->host)->flows++;
	turn->credit_bytes = TAKT_FLOW_QUANTUM;
	turn->round = takt_flow_rounds(order, class_id, turn->host)->count;
	if (takt_host_owes(order, id))
		takt_flow_append(order, class_id, id, TAKT_FLOWS_NEW);
	else
		takt_turn_append(order, class_id, id, TAKT_FLOWS_NEW);
	return 0;
}

/*
 * The flow, which takes turns in this class, has a packet again. It is new again if it has not
 * spent its quantum, and has a whole one if a round has passed since it got it.
 */
TAKT_FN_OUT int takt_flow_resume(struct takt_order *order TAKT_ARG, u32 class_id, u32 id)
{
	struct takt_flow_turn *turn = &takt_entity(order, id)->turn;
	u16 round;

	class_id &= TAKT_CLASSES - 1;
	id &= TAKT_ENTITIES - 1;
	if (!(turn->list & TAKT_FLOWS_UNSPENT))
		return 0;
	round = takt_flow_rounds(order, class_id, turn->host)->count;
	/* The round in which it got it had begun. */
	if ((u16)(round - turn->round) > 1) {
		turn->credit_bytes = TAKT_FLOW_QUANTUM;
		turn->round = round;
	}
	takt_turn_unlink(order, id);
	if (takt_host_owes(order, id))
		takt_flow_append(order, class_id, id, TAKT_FLOWS_NEW);
	else
		takt_turn_append(order, class_id, id, TAKT_FLOWS_NEW);
	return 0;
}

/* A packet was queued in an entity of this leader, in which it takes turns if it is another. */
TAKT_FN void takt_flow_queued(struct takt_order *order, u32 leader, u32 id, u32 len)
{
	struct takt_flow_lists *flows = &takt_entity(order, leader)->flows;

	if (leader == id) {
		/* It may still be in a class's list, without packets. */
		if (id >= TAKT_CLASSES)
			takt_flow_detach(order, id);
		return;
	}
	flows->packets++;
	flows->bytes += len;
}

/* The flow, which may have a host, has used up bytes of its turn, or gets them back. */
TAKT_FN void takt_flow_credit(struct takt_order *order, struct takt_flow_turn *turn, s32 bytes)
{
	turn->credit_bytes += bytes;
	if (turn->host)
		takt_host(&order->hosts, turn->host)->turn.credit_bytes += bytes;
}

/* A packet of the entity, which may take turns in a class, has left its queue. */
TAKT_FN void takt_flow_left(struct takt_order *order, u32 id, u32 len)
{
	struct takt_flow_turn *turn = &takt_entity(order, id)->turn;
	struct takt_flow_lists *flows = &takt_entity(order, turn->class_id)->flows;

	if (!turn->class_id)
		return;
	takt_flow_credit(order, turn, -(s32)len);
	if (turn->class_id == id)
		return;
	flows->packets--;
	flows->bytes -= len;
}

/* The packet that has just left the entity's queue was not sent. */
TAKT_FN void takt_flow_refund(struct takt_order *order, u32 id, u32 len)
{
	struct takt_flow_turn *turn = &takt_entity(order, id)->turn;

	if (turn->class_id)
		takt_flow_credit(order, turn, len);
}

/* Bytes that wait where this entity's packets do: its own, or its class's. */
TAKT_FN u64 takt_bytes_beside(struct takt_order *order, u32 id)
{
	const struct takt_entity *entity = takt_entity(order, id);

	if (entity->turn.class_id)
		entity = takt_entity(order, entity->turn.class_id);
	return entity->queue.bytes + entity->flows.bytes;
}

/* It is the only one that waits, or what it owes is paid for by a quantum at a time. */
TAKT_FN void takt_turn_pay(struct takt_flow_turn *turn, int alone)
{
	turn->credit_bytes = TAKT_FLOW_QUANTUM + (alone ? 0 : turn->credit_bytes);
}

/* Is it this flow's turn? If not, put it where it belongs. */
TAKT_FN_OUT int takt_flow_may_go(struct takt_order *order TAKT_ARG, u32 class_id, u32 id)
{
	struct takt_entity *flow = takt_entity(order, id);
	struct takt_flow_turn *turn = &flow->turn;
	u32 to = TAKT_FLOWS_OLD, was_new = !(turn->list & TAKT_FLOWS_OLD);
	int owes = takt_host_owes(order, id), alone;
	struct takt_flow_list *list = takt_turn_list(order, turn);

	if (flow->queue.packets && turn->credit_bytes > 0 && !owes)
		return 1;
	/* The old list beside its own, or its own. */
	alone = was_new ? !list[TAKT_FLOWS_OLD].head : list->head == list->tail;
	if (turn->credit_bytes <= 0) {
		/* Also without packets: what it has used up would be forgotten. */
		takt_turn_pay(turn, alone);
	} else if (flow->queue.packets) {
		to = TAKT_FLOWS_NEW;
	} else {
		flow->codel.dropping = 0;
		if (!was_new || (alone && !owes)) {
			takt_flow_detach(order, id);
			return 0;
		}
		to |= TAKT_FLOWS_UNSPENT;
	}
	takt_turn_unlink(order, id & (TAKT_ENTITIES - 1));
	takt_flow_append(order, class_id & (TAKT_CLASSES - 1), id & (TAKT_ENTITIES - 1), to);
	return 0;
}

/* The flow whose turn it is within this host. 0: the host was put where it belongs; ask again. */
TAKT_FN u32 takt_host_turn(struct takt_order *order, u32 class_id, u32 id)
{
	struct takt_host *host = takt_host(&order->hosts, id);
	const struct takt_flow_list *hosts =
		&takt_entity(order, class_id)->flows.list[TAKT_FLOWS_OLD];
	u32 flow = host->list[TAKT_FLOWS_NEW].head;

	if (!flow)
		flow = host->list[TAKT_FLOWS_OLD].head;
	if (host->turn.credit_bytes > 0 && flow)
		return takt_flow_may_go(order, class_id, flow) ? flow : 0;
	takt_turn_unlink(order, id);
	if (host->turn.credit_bytes > 0) {
		takt_host_settle(host);
		return 0;
	}
	/* Also without flows, as above. */
	takt_turn_pay(&host->turn, !hosts->head);
	takt_turn_append(order, class_id, id, TAKT_FLOWS_OLD);
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
	if (leader->queue.packets && leader->turn.class_id != class_id)
		takt_flow_begin(order, class_id, class_id, 0);
	TAKT_FOR (i, 0, TAKT_FLOW_TURNS_MAX) {
		id = leader->flows.list[TAKT_FLOWS_NEW].head;
		if (!id)
			id = leader->flows.list[TAKT_FLOWS_OLD].head;
		if (!id)
			return 0;
		if (id >= TAKT_HOST_FIRST) {
			id = takt_host_turn(order, class_id, id);
			if (id)
				return id;
		} else if (takt_flow_may_go(order, class_id, id)) {
			return id;
		}
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
