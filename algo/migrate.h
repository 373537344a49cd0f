/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Migration to another plan: packets that are queued keep their order, and backlogged entities
 * move to where the new plan puts them, a few with each packet.
 */
#ifndef TAKT_MIGRATE_H
#define TAKT_MIGRATE_H

#include "activate.h"

/* Entities moved with each packet, after the plan has changed. */
#define TAKT_REPLACED_AT_ONCE 64

/*
 * Note the plan and the latest registration (0: none) as packets see them. If either is new, so
 * is the configuration: all queued packets were put there by other rules.
 */
TAKT_FN void takt_link_observe(struct takt_link *link, const struct takt_plan *plan,
			       u64 registered_ns)
{
	u32 replaced = link->plan_generation != (u32)plan->generation;

	if (!replaced && registered_ns <= link->registered_ns)
		return;
	link->generation++;
	link->short_in = 0;
	if (!link->old_packets)
		link->settled_ns = link->registered_ns;
	link->old_packets = link->queued_packets;
	link->registered_ns = takt_max(link->registered_ns, registered_ns);
	if (!replaced)
		return;
	link->plan_generation = plan->generation;
	link->plan_since = link->generation;
	link->old_plan_packets = link->queued_packets;
}

/* The plan is new: entities follow it a few at a time, from the first one on. */
TAKT_FN void takt_link_adopt(struct takt_link *link, const struct takt_plan *plan)
{
	if (link->queued_generation == (u32)plan->generation)
		return;
	link->queued_generation = plan->generation;
	link->plan_hand = 0;
	link->wake_ns = 0;
	if (link->flows.stations.seen)
		takt_stations_review(&link->flows.stations);
}

/* May packets be queued from before a registration at this time? */
TAKT_FN int takt_link_unsettled(const struct takt_link *link, u64 registered_ns)
{
	return link->old_packets && registered_ns > link->settled_ns;
}

/* The plan has changed: move the next few backlogged entities to where it puts them. */
TAKT_FN_OUT int takt_link_replace(struct takt_link *link TAKT_ARG,
				  const struct takt_plan *plan TAKT_ARG, u64 now_ns)
{
	u32 i;

	TAKT_FOR (i, 0, TAKT_REPLACED_AT_ONCE)
		takt_entity_follow(link, plan, link->plan_hand + i, now_ns);
	link->plan_hand += TAKT_REPLACED_AT_ONCE;
	return 0;
}

/*
 * A flow now belongs to this class: move it with its packets, and queue it by the class's
 * parameters if it is backlogged.
 */
TAKT_FN_OUT int takt_link_follow(struct takt_link *link TAKT_ARG,
				 const struct takt_plan *plan TAKT_ARG, u32 id, u32 class_id,
				 u64 now_ns)
{
	struct takt_entity *entity = takt_entity(&link->order, id);
	u32 moves = entity->class_id != class_id;

	takt_flow_follow(&link->flows, &link->order, id, class_id, link->generation);
	if (!moves || !entity->waits)
		return 0;
	link->wake_ns = 0;
	return takt_entity_follow(link, plan, id, now_ns);
}

#endif
