/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A node: entities that share the link, or a tenant's part of it.
 *
 * The order in which they go:
 *   1. floors that are due, earliest first, whatever the priority;
 *   2. of the best priority with an eligible entity:
 *      guarantees that are due, earliest first;
 *   3. then spare capacity, by weight: the smallest start tag first (share.h).
 *
 * When guarantees ask for more than there is (PSPacer, section 4 (2)), costs must scale by what
 * the active entities ask over what they get, or those behind would burst when others stop. Here
 * each priority has a clock, which all its entities' clocks follow, and that clock slows down: it
 * waits for the entities as soon as one falls behind by more than is possible while all
 * guarantees can be met. That scales every cost at once, without counting the active entities;
 * and as the earliest due still goes first, shares are in proportion to the rates.
 *
 * How far behind is possible? While the guarantees fit, a due entity waits at most for one frame
 * of each other entity of the same or a better priority. An entity that becomes backlogged while
 * others are late starts level with them: it must neither wait for them longer than one frame
 * each, nor be ahead of a clock that is about to be put back.
 *
 * The calendars that an entity can be in:
 *   ready    instead of any, until its ready time, which is of the wall: a priority's clock that
 *            slows down puts off what its entities are owed, and not when they may go;
 *   timed    until its pace makes it eligible, or until its guarantee is due;
 *   share    it is eligible, and its guarantee is not due;
 *   gate     instead of either, while it is blocked (blocked.h);
 *   station  instead of any, while its station's weight is 0 (station.h);
 *   floors   if it has a floor, as well as timed, share or gate.
 */
#ifndef TAKT_NODE_H
#define TAKT_NODE_H

#include "calendar.h"
#include "entity.h"
#include "blocked.h"
#include "host.h"

struct takt_node {
	struct takt_calendar timed[TAKT_PRIORITIES];
	struct takt_calendar share[TAKT_PRIORITIES];
	struct takt_calendar floors;
	struct takt_calendar ready;
	u64 behind_ns[TAKT_PRIORITIES];		/* real time less the priority's clock */
	u64 virtual_ns[TAKT_PRIORITIES];	/* start tag of the last that went by share */
	u64 frame_ns;				/* the longest frame of late, in time */
	u32 crowd[TAKT_PRIORITIES];		/* most entities in timed of late, times 4 */
	u32 timed_bits, share_bits;		/* priorities with an entity in these calendars */
	u32 backlogged;				/* entities in ready, timed, share or floors */
	u32 pad;
};

/* A station's frames that go one after another, see burst.h. */
struct takt_burst {
	u64 since_ns;	/* when it went on */
	u32 id;		/* its entity; 0: none */
	u32 tenant;	/* above it, or 0 */
};

/* All backlogged entities and queued packets of a link. */
struct takt_order {
	struct takt_node node[TAKT_NODES];
	struct takt_entity entity[TAKT_ENTITIES];
	struct takt_hosts hosts;
	struct takt_packet_slots slots;
	struct takt_blocked blocked;
	struct takt_burst burst;
	struct takt_shelf shelf;
};

struct takt_pick {
	u64 due_ns;	/* in real time */
	u64 since_ns;	/* eligible since, in real time */
	u64 wake_ns;	/* none is eligible: when to ask again, or TIME_NEVER */
	u32 by;		/* TAKT_BY_* */
	u32 next;	/* none is eligible: the next that will be; 0: not known */
};

TAKT_FN struct takt_node *takt_node(struct takt_order *order, u32 node)
{
	return &order->node[node & (TAKT_NODES - 1)];
}

TAKT_FN struct takt_entity *takt_entity(struct takt_order *order, u32 id)
{
	return &order->entity[id & (TAKT_ENTITIES - 1)];
}

TAKT_FN const struct takt_class_params *takt_params(const struct takt_plan *plan,
						    const struct takt_entity *entity, u32 id)
{
	if (id >= TAKT_CLASSES)
		id = entity->class_id;
	return &plan->class_params[id & (TAKT_CLASSES - 1)];
}

TAKT_FN void takt_enter(struct takt_order *order, struct takt_calendar *calendar, u32 entry,
			u64 due_ns, u64 now_ns)
{
	takt_entry(&order->shelf, entry)->due_ns = due_ns;
	takt_calendar_insert(calendar, &order->shelf, entry, now_ns);
}

/* Take the entity out of its calendars. */
TAKT_FN_OUT int takt_entity_leave(struct takt_order *order TAKT_ARG, u32 id, u64 now_ns)
{
	struct takt_entity *entity = takt_entity(order, id);
	struct takt_node *node = takt_node(order, entity->node);
	u32 priority = entity->priority & (TAKT_PRIORITIES - 1);

	id &= TAKT_ENTITIES - 1;
	if (entity->waits & TAKT_IN_READY)
		takt_calendar_remove(&node->ready, &order->shelf, id + TAKT_ENTRY_TIMED);
	if (entity->waits & TAKT_IN_TIMED) {
		takt_calendar_remove(&node->timed[priority], &order->shelf,
				     id + TAKT_ENTRY_TIMED);
		if (!node->timed[priority].count)
			node->timed_bits &= ~(1U << priority);
	}
	if (entity->waits & TAKT_IN_SHARE) {
		takt_calendar_remove(&node->share[priority], &order->shelf,
				     id + TAKT_ENTRY_SHARE);
		if (!node->share[priority].count)
			node->share_bits &= ~(1U << priority);
	}
	if (entity->waits & TAKT_IN_FLOORS)
		takt_calendar_remove(&node->floors, &order->shelf, id + TAKT_ENTRY_FLOOR);
	if (entity->waits & TAKT_IN_GATE)
		takt_unblock(&order->blocked, &order->shelf, id, now_ns);
	else if (entity->waits & TAKT_IN_STATION)
		order->blocked.by_weight--;
	else if (entity->waits && priority == TAKT_BACKGROUND)
		order->blocked.backlogged--;
	if (entity->waits & ~TAKT_IN_NO_TURN)
		node->backlogged--;
	entity->waits = 0;
	return 0;
}

/* The plan moves it to another priority, whose clock shows another time. */
TAKT_FN void takt_entity_move(struct takt_order *order, struct takt_entity *entity,
			      u32 to_node, u32 to_priority)
{
	struct takt_node *to = takt_node(order, to_node);
	u64 from_ns = takt_node(order, entity->node)
			      ->behind_ns[entity->priority & (TAKT_PRIORITIES - 1)];
	u64 to_ns = to->behind_ns[to_priority & (TAKT_PRIORITIES - 1)];

	entity->pace.due_ns += from_ns;
	entity->pace.due_ns -= takt_min(entity->pace.due_ns, to_ns);
	entity->guarantee.due_ns += from_ns;
	entity->guarantee.due_ns -= takt_min(entity->guarantee.due_ns, to_ns);
	entity->share.due_ns = to->virtual_ns[to_priority & (TAKT_PRIORITIES - 1)];
	entity->node = to_node;
	entity->priority = to_priority;
}

/* What its priority's clock shows at now. */
TAKT_FN u64 takt_clock_of(struct takt_order *order, const struct takt_entity *entity,
			  u64 now_ns)
{
	u64 behind_ns = takt_node(order, entity->node)
				->behind_ns[entity->priority & (TAKT_PRIORITIES - 1)];

	return now_ns - takt_min(behind_ns, now_ns);
}

/*
 * How long may a guarantee have to wait while all of the same or a better priority can be met?
 * One frame of each of them; and again, while better ones use up what they are owed, as long as
 * is made up for at most (lag_max). Most of those it waited for may have become idle, so `crowd`
 * counts, which falls by one entity per four frames: a third is added, so that the last entity
 * still counts all that went before it. Those that are not ready yet will be, at any priority.
 */
TAKT_FN_OUT u64 takt_wait_bound(const struct takt_node *node TAKT_ARG, u32 priority,
				u64 lag_max_ns)
{
	u64 better = node->floors.count, bound_ns;
	u64 level = node->crowd[priority & (TAKT_PRIORITIES - 1)] / 3 + node->ready.count;
	u32 i;

	priority &= TAKT_PRIORITIES - 1;
	for (i = 0; i < TAKT_PRIORITIES && i < priority; i++)
		better += node->timed[i].count;
	bound_ns = (1 + better + level) * node->frame_ns;
	return better ? takt_max(bound_ns, lag_max_ns) : bound_ns;
}

/*
 * The time that an entity starts at when it becomes backlogged now: level with the first of its
 * priority, if that is late.
 */
TAKT_FN u64 takt_start_of(struct takt_order *order, const struct takt_entity *entity,
			  u64 now_ns)
{
	u64 clock_ns = takt_clock_of(order, entity, now_ns), due_ns;
	u32 id;

	id = takt_calendar_first(&takt_node(order, entity->node)
					  ->timed[entity->priority & (TAKT_PRIORITIES - 1)],
				 &order->shelf, clock_ns, &due_ns);
	if (id)
		clock_ns = takt_min(clock_ns, takt_entry(&order->shelf, id)->due_ns);
	return clock_ns;
}

/* The entity has packets and is in no calendar: insert it where it belongs. */
TAKT_FN_OUT int takt_entity_wait(struct takt_order *order TAKT_ARG,
				 const struct takt_plan *plan TAKT_ARG, u32 id, u64 now_ns)
{
	struct takt_entity *entity = takt_entity(order, id);
	const struct takt_class_params *params = takt_params(plan, entity, id);
	u32 priority = params->priority & (TAKT_PRIORITIES - 1);
	struct takt_node *node = takt_node(order, params->node);
	u64 behind_ns, clock_ns, timed_ns = TAKT_TIME_NEVER;

	behind_ns = node->behind_ns[priority];
	clock_ns = now_ns - takt_min(behind_ns, now_ns);
	if (entity->node != params->node || entity->priority != priority) {
		takt_entity_move(order, entity, params->node, priority);
		/* This priority does not make up for the other's lateness. */
		takt_entity_start(entity, clock_ns, now_ns, node->virtual_ns[priority]);
	}
	if (entity->throttled) {
		entity->waits = TAKT_IN_STATION;
		order->blocked.by_weight++;
		return 0;
	}
	id &= TAKT_ENTITIES - 1;
	if (takt_is_blocked(&order->blocked, params, entity)) {
		takt_block(&order->blocked, &order->shelf, id, entity, now_ns);
		entity->waits |= TAKT_IN_GATE;
	} else if (entity->ready_ns > now_ns) {
		takt_enter(order, &node->ready, id + TAKT_ENTRY_TIMED, entity->ready_ns, now_ns);
		entity->waits |= TAKT_IN_READY;
	} else if (takt_is_paced(params) || (params->ceil_bps && entity->pace.due_ns > clock_ns)) {
		timed_ns = entity->pace.due_ns;
	} else {
		/* Eligible: by its guarantee whenever that is due, by its share otherwise. */
		if (params->rate_bps)
			timed_ns = entity->guarantee.due_ns;
		/* While throttled by its pace it had no claim to spare capacity. */
		takt_clock_start(&entity->share, node->virtual_ns[priority]);
		takt_enter(order, &node->share[priority], id + TAKT_ENTRY_SHARE,
			   entity->share.due_ns, node->virtual_ns[priority]);
		node->share_bits |= 1U << priority;
		entity->waits |= TAKT_IN_SHARE;
	}
	if (timed_ns != TAKT_TIME_NEVER) {
		/* Not owed before it was ready. */
		timed_ns = takt_max(timed_ns + behind_ns, entity->ready_ns) - behind_ns;
		takt_enter(order, &node->timed[priority], id + TAKT_ENTRY_TIMED, timed_ns,
			   clock_ns);
		node->timed_bits |= 1U << priority;
		entity->waits |= TAKT_IN_TIMED;
	}
	if (params->floor_bps && !(entity->waits & TAKT_IN_READY)) {
		u64 floor_ns = takt_max(entity->floor.due_ns, entity->ready_ns);

		if (params->ceil_bps)
			floor_ns = takt_max(floor_ns, entity->pace.due_ns + behind_ns);
		takt_enter(order, &node->floors, id + TAKT_ENTRY_FLOOR, floor_ns, now_ns);
		entity->waits |= TAKT_IN_FLOORS;
	}
	if (!(entity->waits & TAKT_IN_GATE) && priority == TAKT_BACKGROUND)
		order->blocked.backlogged++;
	if (entity->waits & ~TAKT_IN_GATE)
		node->backlogged++;
	return 0;
}

/*
 * A paced entity was served and is still backlogged: queue it again. The short way for entities
 * that are only in timed; 0 if this is not one.
 */
TAKT_FN int takt_paced_requeue(struct takt_order *order, const struct takt_class_params *params,
			       u32 id, u64 now_ns)
{
	struct takt_entity *entity = takt_entity(order, id);
	struct takt_calendar *timed;

	if (entity->waits != TAKT_IN_TIMED || !takt_is_paced(params) || params->floor_bps ||
	    entity->node != params->node || entity->priority != params->priority)
		return 0;
	id &= TAKT_ENTITIES - 1;
	timed = &takt_node(order, entity->node)
			 ->timed[entity->priority & (TAKT_PRIORITIES - 1)];
	takt_calendar_remove(timed, &order->shelf, id + TAKT_ENTRY_TIMED);
	takt_enter(order, timed, id + TAKT_ENTRY_TIMED, entity->pace.due_ns,
		   takt_clock_of(order, entity, now_ns));
	return 1;
}

/* Is its guarantee due, now that its entry in timed is? */
TAKT_FN int takt_is_owed(const struct takt_entity *entity,
			 const struct takt_class_params *params, u64 clock_ns)
{
	return takt_is_paced(params) ||
	       (params->rate_bps && entity->guarantee.due_ns <= clock_ns);
}

/*
 * The entity whose turn it is for spare capacity. Looks no further ahead than it must, as
 * newcomers start at the virtual time of now. 0: too many entries were moved; ask again at once.
 */
TAKT_FN u32 takt_share_first(struct takt_order *order, struct takt_node *node, u32 priority,
			     u64 *wake_ns)
{
	u32 id = takt_calendar_first(&node->share[priority], &order->shelf,
				     node->virtual_ns[priority], wake_ns);

	if (!id)
		id = takt_calendar_first(&node->share[priority], &order->shelf,
					 TAKT_TIME_NEVER, wake_ns);
	return id & (TAKT_ENTITIES - 1);
}

/*
 * Likewise on a link with bursts (burst.h): the entity whose burst it is, if that waits here for
 * its share. Virtual time stays behind all tags, also where they are equal, so that a newcomer
 * goes next.
 */
TAKT_FN_OUT u32 takt_burst_first(struct takt_order *order TAKT_ARG, u32 at, u32 priority,
				 struct takt_pick *pick TAKT_ARG)
{
	u32 leaf = order->burst.id, tenant = order->burst.tenant;
	u32 id = (at || !tenant ? leaf : tenant) & (TAKT_ENTITIES - 1);
	struct takt_node *node = takt_node(order, at);
	struct takt_entity *entity = takt_entity(order, id);

	priority &= TAKT_PRIORITIES - 1;
	pick->by = TAKT_BY_BURST;
	if (leaf && (takt_entity(order, leaf)->waits & entity->waits & TAKT_IN_SHARE) &&
	    entity->node == at && entity->priority == priority)
		return id;
	id = takt_share_first(order, node, priority, &pick->due_ns);
	entity = takt_entity(order, id);
	if (id && entity->share.due_ns > node->virtual_ns[priority])
		node->virtual_ns[priority] = entity->share.due_ns - 1;
	return id;
}

/* The entity that goes by its share. 0: ask again at once. */
TAKT_FN u32 takt_share_turn(struct takt_order *order, const struct takt_plan *plan, u32 at,
			    u32 priority, struct takt_pick *pick)
{
	pick->by = TAKT_BY_SHARE;
	if (plan->station_burst_bytes)
		return takt_burst_first(order, at, priority, pick);
	return takt_share_first(order, takt_node(order, at), priority, &pick->due_ns);
}

/*
 * The entity of the node that goes first at now. 0: none before pick->wake_ns. With
 * TAKT_BY_NOTHING the entity became ready, or is eligible while its guarantee is not due: queue it
 * again, and ask again.
 */
TAKT_FN_OUT u32 takt_node_first(struct takt_order *order TAKT_ARG,
				const struct takt_plan *plan TAKT_ARG, u32 at, u64 now_ns,
				struct takt_pick *pick TAKT_ARG)
{
	struct takt_node *node = takt_node(order, at);
	u32 priorities = node->timed_bits | node->share_bits, id, i;
	struct takt_entity *entity;

	pick->wake_ns = TAKT_TIME_NEVER;
	pick->next = 0;
	if (node->ready.count) {
		id = takt_calendar_first(&node->ready, &order->shelf, now_ns, &pick->wake_ns);
		if (id)
			pick->wake_ns = takt_entry(&order->shelf, id)->due_ns;
		if (id && pick->wake_ns <= now_ns) {
			pick->by = TAKT_BY_NOTHING;
			return id & (TAKT_ENTITIES - 1);
		}
	}
	if (node->floors.count) {
		id = takt_calendar_first(&node->floors, &order->shelf, now_ns, &pick->due_ns);
		if (id)
			pick->due_ns = takt_entry(&order->shelf, id)->due_ns;
		if (id && pick->due_ns <= now_ns) {
			pick->since_ns = pick->due_ns;
			pick->by = TAKT_BY_FLOOR;
			return id & (TAKT_ENTITIES - 1);
		}
		pick->wake_ns = takt_min(pick->wake_ns, pick->due_ns);
	}
	for (i = 0; i < TAKT_PRIORITIES && priorities; i++) {
		u32 priority = takt_lowest_bit(priorities) & (TAKT_PRIORITIES - 1);
		u64 behind_ns = node->behind_ns[priority];
		u64 clock_ns = now_ns - takt_min(behind_ns, now_ns);

		priorities &= priorities - 1;
		if (node->timed_bits >> priority & 1) {
			id = takt_calendar_first(&node->timed[priority], &order->shelf,
						 clock_ns, &pick->due_ns);
			if (id)
				pick->due_ns = takt_entry(&order->shelf, id)->due_ns;
			if (id && pick->due_ns <= clock_ns) {
				entity = takt_entity(order, id);
				pick->due_ns += behind_ns;
				pick->since_ns = entity->waits & TAKT_IN_SHARE ?
							 takt_max(entity->pace.due_ns + behind_ns,
								  entity->ready_ns) :
							 pick->due_ns;
				pick->by = takt_is_owed(entity, takt_params(plan, entity, id),
							clock_ns) ?
						   TAKT_BY_GUARANTEE :
						   TAKT_BY_NOTHING;
				return id;
			}
			if (pick->due_ns != TAKT_TIME_NEVER &&
			    pick->due_ns + behind_ns < pick->wake_ns) {
				pick->wake_ns = pick->due_ns + behind_ns;
				pick->next = id;
			}
		}
		if (node->share_bits >> priority & 1) {
			id = takt_share_turn(order, plan, at, priority, pick);
			if (!id) {
				pick->wake_ns = now_ns;
				return 0;
			}
			pick->due_ns = takt_entity(order, id)->pace.due_ns + behind_ns;
			pick->since_ns = pick->due_ns;
			return id;
		}
	}
	return 0;
}

/* A frame that leaves. */
struct takt_frame {
	u64 now_ns;
	u64 free_ns;	/* when the link became free */
	u64 takes_ns;	/* on the wire, or at the tenant's rate */
	u64 since_ns;	/* a tenant was not backlogged before */
	u32 len;
	u32 pad;
};

/* A frame that takes so long is sent at this priority. */
TAKT_FN void takt_node_note(struct takt_node *node, u32 priority, u64 takes_ns)
{
	u32 crowd = node->crowd[priority];

	node->frame_ns -= node->frame_ns / 1024;
	node->frame_ns = takt_max(node->frame_ns, takes_ns);
	node->crowd[priority] = takt_max(crowd ? crowd - 1 : 0, 4 * node->timed[priority].count);
}

/* The entity sends this frame: charge it. */
TAKT_FN_OUT int takt_node_served(struct takt_order *order TAKT_ARG,
				 const struct takt_plan *plan TAKT_ARG, u32 id,
				 const struct takt_pick *pick TAKT_ARG,
				 const struct takt_frame *frame TAKT_ARG)
{
	struct takt_entity *entity = takt_entity(order, id);
	const struct takt_class_params *params = takt_params(plan, entity, id);
	struct takt_node *node = takt_node(order, entity->node);
	u32 priority = entity->priority & (TAKT_PRIORITIES - 1);
	u64 busy_ns = takt_min(frame->now_ns, frame->free_ns), bound_ns;
	u64 lag_max_ns = plan->link.lag_max_ns;
	u64 from_ns = frame->since_ns - takt_min(node->behind_ns[priority], frame->since_ns);

	takt_node_note(node, priority, frame->takes_ns);
	if (pick->by == TAKT_BY_SHARE)
		node->virtual_ns[priority] = entity->share.due_ns;
	if (pick->by == TAKT_BY_GUARANTEE && busy_ns > pick->due_ns) {
		bound_ns = takt_wait_bound(node, priority, lag_max_ns);
		if (busy_ns - pick->due_ns > bound_ns)
			node->behind_ns[priority] += busy_ns - pick->due_ns - bound_ns;
		/* Time that others made it wait is not dropped, unlike a timer's lateness. */
		lag_max_ns += bound_ns;
	}
	takt_entity_charge(entity, params, lag_max_ns, from_ns,
			   takt_clock_of(order, entity, frame->now_ns), frame->now_ns,
			   frame->len, pick->by);
	return 0;
}

#endif
