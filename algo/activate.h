/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Activation: how entities and their tenants become backlogged, are queued again, and are
 * released by the gate. The order among backlogged entities is in choose.h.
 */
#ifndef TAKT_ACTIVATE_H
#define TAKT_ACTIVATE_H

#include "link_state.h"

/* The entity becomes backlogged: its clocks start, and it enters the calendars. */
TAKT_FN_OUT int takt_entity_activate(struct takt_link *link TAKT_ARG,
				     const struct takt_plan *plan TAKT_ARG, u32 id, u64 now_ns)
{
	struct takt_entity *entity = takt_entity(&link->order, id);
	const struct takt_class_params *params = takt_params(plan, entity, id);
	u64 clock_ns;

	takt_entity_leave(&link->order, id, now_ns);
	if (entity->node != params->node || entity->priority != params->priority)
		takt_entity_move(&link->order, entity, params->node, params->priority);
	/* If every backlogged entity is due later, none is late. */
	if (link->wake_ns <= now_ns || link->clock.due_ns > now_ns)
		clock_ns = takt_start_of(&link->order, entity, now_ns);
	else
		clock_ns = takt_clock_of(&link->order, entity, now_ns);
	link->wake_ns = 0;
	entity->ready_ns = 0;
	takt_entity_start(entity, clock_ns, now_ns,
			  takt_node(&link->order, entity->node)
				  ->virtual_ns[entity->priority & (TAKT_PRIORITIES - 1)]);
	takt_entity_wait(&link->order, plan, id, now_ns);
	return 0;
}

/* Does this entity represent the node? */
TAKT_FN int takt_goes_for(const struct takt_plan *plan, u32 id, u32 node)
{
	u32 tenant = plan->tenant[node & (TAKT_NODES - 1)];

	/* A node that the plan no longer has is represented by any entity that still heads it. */
	return !tenant || tenant == id;
}

/*
 * Is the entity backlogged? It has packets of its own, or a node with a backlogged entity. (Its
 * own first: a tenant has some only if its id was a class's in the plan before.)
 */
TAKT_FN int takt_has_packets(struct takt_link *link, const struct takt_plan *plan, u32 id)
{
	struct takt_entity *entity = takt_entity(&link->order, id);
	u32 heads = entity->heads;

	return takt_backlog(entity) ||
	       (heads && takt_node(&link->order, heads)->backlogged &&
		takt_goes_for(plan, id, heads));
}

/* An entity of this node is backlogged: so is its tenant, if it has one. */
TAKT_FN void takt_tenant_activate(struct takt_link *link, const struct takt_plan *plan, u32 node,
				  u64 now_ns)
{
	u32 id = plan->tenant[node & (TAKT_NODES - 1)];
	struct takt_entity *tenant = takt_entity(&link->order, id);

	/* The gate may block all entities of the node. */
	if (!node || !id || !takt_node(&link->order, node)->backlogged)
		return;
	if (tenant->waits && tenant->heads == node && tenant->ready_ns <= now_ns)
		return;
	tenant->heads = node;
	takt_entity_activate(link, plan, id, now_ns);
}

/* Queue the entity again: it is not eligible before ready_ns. */
TAKT_FN_OUT int takt_entity_requeue(struct takt_link *link TAKT_ARG,
				    const struct takt_plan *plan TAKT_ARG, u32 id, u64 ready_ns,
				    u64 now_ns)
{
	takt_entity(&link->order, id)->ready_ns = ready_ns;
	takt_entity_leave(&link->order, id, now_ns);
	if (ready_ns != TAKT_TIME_NEVER)
		takt_entity_wait(&link->order, plan, id, now_ns);
	return 0;
}

/* Move a backlogged entity to where the plan now puts it. */
TAKT_FN int takt_entity_follow(struct takt_link *link, const struct takt_plan *plan, u32 id,
			       u64 now_ns)
{
	struct takt_entity *entity = takt_entity(&link->order, id);

	if (!entity->waits)
		return 0;
	takt_entity_requeue(link, plan, id & (TAKT_ENTITIES - 1), entity->ready_ns, now_ns);
	takt_tenant_activate(link, plan, entity->node, now_ns);
	return 0;
}

/*
 * The gate opens for a blocked entity: queue it like the others. The time that it was blocked is
 * not made up for: the link would send several frames at once, and the other entities' next
 * frames would be late.
 */
TAKT_FN_OUT int takt_link_release(struct takt_link *link TAKT_ARG,
				  const struct takt_plan *plan TAKT_ARG, u32 id, u64 now_ns)
{
	struct takt_entity *entity = takt_entity(&link->order, id);
	u64 virtual_ns = takt_node(&link->order, entity->node)
				 ->virtual_ns[entity->priority & (TAKT_PRIORITIES - 1)];

	link->wake_ns = 0;
	takt_entity_start(entity, takt_clock_of(&link->order, entity, now_ns), now_ns,
			  virtual_ns);
	return takt_entity_follow(link, plan, id, now_ns);
}

/* Note the sender's priority. If its entity is blocked, that may change for how long. */
TAKT_FN void takt_link_sender(struct takt_link *link, const struct takt_plan *plan, u32 id,
			      u32 task_prio, u64 now_ns)
{
	struct takt_entity *entity = takt_entity(&link->order, id);

	if (!task_prio || entity->task_prio == task_prio)
		return;
	entity->task_prio = task_prio;
	if (entity->waits & TAKT_IN_GATE)
		takt_link_release(link, plan, id, now_ns);
}

#endif
