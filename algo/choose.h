/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Choice: which entity's packet leaves next. Floors, priorities, guarantees and shares are in
 * node.h. Here the link, and then perhaps a tenant, ask their node for its first entity. A
 * packet that must not overtake others waits for them, or pulls them: they leave first.
 */
#ifndef TAKT_CHOOSE_H
#define TAKT_CHOOSE_H

#include "activate.h"

/* How often a packet that must not overtake checks whether it may go. */
#define TAKT_OVERTAKE_POLL_NS 100000
/* Entities that one dequeue checks; the next interrupt goes on from there. */
#define TAKT_PEEKS_MAX 32
/* Queues in a chain of pulls by one packet. */
#define TAKT_PULLS_MAX 4

/*
 * How many packets of another queue must leave before the entity's first packet? Precondition:
 * the entity has a packet.
 */
TAKT_FN u32 takt_would_overtake(struct takt_link *link, struct takt_entity *entity)
{
	struct takt_packet *packet = takt_packet(&link->order.slots, entity->queue.head);
	const struct takt_queue *old;

	if (!packet->after)
		return 0;
	old = &takt_entity(&link->order, packet->after)->queue;
	return takt_queue_past(old, packet->after_in) ?
		       0 : packet->after_in - (old->in - old->packets);
}

/*
 * The entity whose packet leaves in this entity's turn. Its own first packet may pull another
 * queue's, and that one a third's. 0: the packet has to wait.
 */
TAKT_FN_OUT u32 takt_link_pull(struct takt_link *link TAKT_ARG, u32 id)
{
	u32 i;

	for (i = 0; i < TAKT_PULLS_MAX; i++) {
		struct takt_entity *entity = takt_entity(&link->order, id);
		u32 after = takt_packet(&link->order.slots, entity->queue.head)->after;

		if (!takt_would_overtake(link, entity))
			return id;
		if (!(after & TAKT_PULLS))
			return 0;
		id = after & (TAKT_ENTITIES - 1);
	}
	return 0;
}

/*
 * Check the entity that would go first. Returns whether the choice is final; if not, an entity
 * was queued again with another ready_ns, and the caller repeats the search.
 */
TAKT_FN int takt_link_peek(struct takt_link *link, const struct takt_plan *plan, u64 now_ns)
{
	struct takt_path *path = &link->path;
	struct takt_entity *entity;
	u64 ready_ns = TAKT_TIME_NEVER;
	u32 id, heads, turn, ahead;

	path->tenant = 0;
	path->id = id = takt_node_first(&link->order, plan, 0, now_ns, &path->above);
	if (!id)
		return 1;
	entity = takt_entity(&link->order, id);
	heads = path->above.by != TAKT_BY_NOTHING && !takt_backlog(entity) ?
			entity->heads : 0;
	path->leaf = path->above;
	if (heads) {
		path->tenant = id;
		path->id = 0;
		if (takt_goes_for(plan, id, heads)) {
			path->id = takt_node_first(&link->order, plan, heads, now_ns,
						   &path->leaf);
			ready_ns = path->leaf.wake_ns;
		}
	}
	if (path->id && path->leaf.by == TAKT_BY_NOTHING) {
		id = path->id;
		ready_ns = takt_entity(&link->order, id)->ready_ns;
	} else if (path->id) {
		id = path->id;
		entity = takt_entity(&link->order, id);
		turn = takt_backlog(entity) ? takt_turn_of(&link->order, id) : 0;
		ahead = turn ? takt_would_overtake(link, takt_entity(&link->order, turn)) : 0;
		path->source = ahead ? takt_link_pull(link, turn) : turn;
		if (path->source &&
		    (path->leaf.by == TAKT_BY_FLOOR ||
		     !takt_is_blocked(&link->order.blocked, takt_params(plan, entity, id), entity)))
			return 1;
		/* The link needs at least this long for the packets ahead: do not ask before. */
		if (ahead && !path->source)
			ready_ns = now_ns + takt_max(TAKT_OVERTAKE_POLL_NS,
						     ahead * link->order.node[0].frame_ns);
		else
			ready_ns = takt_backlog(entity) ? 0 : TAKT_TIME_NEVER;
	}
	takt_entity_requeue(link, plan, id, ready_ns, now_ns);
	return 0;
}

/*
 * Choose, into link->path, the entity that goes first at now. path.id 0: none may go before
 * path.above.wake_ns.
 */
TAKT_FN_OUT int takt_link_first(struct takt_link *link TAKT_ARG,
				const struct takt_plan *plan TAKT_ARG, u64 now_ns)
{
	struct takt_path *path = &link->path;
	u32 i;

	if (takt_link_peek(link, plan, now_ns))
		return 0;
	TAKT_FOR (i, 1, TAKT_PEEKS_MAX) {
		if (takt_link_peek(link, plan, now_ns))
			return 0;
	}
	path->id = 0;
	path->above.wake_ns = now_ns;
	return 0;
}

/*
 * The timer was set for an entity and nothing has changed since: it goes, without a search. Only
 * for the plain case.
 */
TAKT_FN int takt_link_next(struct takt_link *link, const struct takt_plan *plan, u64 now_ns)
{
	struct takt_path *path = &link->path;
	u32 id = link->next_id;
	struct takt_entity *entity = takt_entity(&link->order, id);

	link->next_id = 0;
	if (!id || !link->wake_ns || now_ns < link->wake_ns || entity->heads ||
	    entity->waits != TAKT_IN_TIMED || !entity->queue.packets || entity->flows.packets ||
	    !takt_is_paced(takt_params(plan, entity, id)) ||
	    takt_packet(&link->order.slots, entity->queue.head)->after ||
	    takt_is_blocked(&link->order.blocked, takt_params(plan, entity, id), entity))
		return 0;
	path->id = path->source = id;
	path->tenant = 0;
	path->leaf.by = TAKT_BY_GUARANTEE;
	path->leaf.due_ns = path->above.due_ns = link->wake_ns;
	path->leaf.since_ns = path->above.since_ns = link->wake_ns;
	return 1;
}

#endif
