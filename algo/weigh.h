/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Applies stations' weights to their entities: backlogged ones are queued again by the new
 * weight, at once or within a few packets.
 */
#ifndef TAKT_WEIGH_H
#define TAKT_WEIGH_H

#include "activate.h"
#include "kind.h"

/* Entities, or stations without any, that are weighed with each packet. */
#define TAKT_WEIGHS_MAX 16
/* Entities searched at once for those of a station. */
#define TAKT_STATION_CHECKS 64

/* The weight of the entity's station is this part of its class's; 0 throttles it. */
TAKT_FN_OUT int takt_entity_weigh(struct takt_link *link TAKT_ARG,
				  const struct takt_plan *plan TAKT_ARG, u32 id,
				  u32 weight_ppm, u64 now_ns)
{
	struct takt_entity *entity = takt_entity(&link->order, id);
	u64 virtual_ns = takt_node(&link->order, entity->node)
				 ->virtual_ns[entity->priority & (TAKT_PRIORITIES - 1)];
	u32 was_throttled = entity->throttled;
	u32 from_ppm = entity->scale_ppm ? entity->scale_ppm : TAKT_SCALE_WHOLE;

	weight_ppm = takt_kind_weight(takt_flow(&link->flows, id), weight_ppm);
	entity->throttled = !weight_ppm;
	if (weight_ppm) {
		weight_ppm = takt_max(weight_ppm, TAKT_SCALE_MIN);
		takt_share_rescale(&entity->share, virtual_ns, from_ppm, weight_ppm);
		entity->scale_ppm = weight_ppm;
	}
	if (!entity->waits || (entity->throttled == was_throttled &&
			       (was_throttled || !(entity->waits & TAKT_IN_SHARE))))
		return 0;
	/* An entity that was throttled starts level with the others, and makes up for nothing. */
	if (was_throttled)
		takt_entity_start(entity, takt_clock_of(&link->order, entity, now_ns), now_ns,
				  virtual_ns);
	link->wake_ns = 0;
	return takt_entity_follow(link, plan, id, now_ns);
}

/* Assign the entity to this station (0: to none), and give it that station's weight. */
TAKT_FN_OUT int takt_station_claim(struct takt_link *link TAKT_ARG,
				   const struct takt_plan *plan TAKT_ARG, u32 number, u32 id,
				   u64 now_ns)
{
	struct takt_flows *flows = &link->flows;
	struct takt_flow *flow = takt_flow(flows, id);

	if (flow->station == number)
		return 0;
	if (flow->station)
		takt_station_part(flows, id);
	if (number)
		takt_station_join(flows, number, id);
	takt_entity_weigh(link, plan, id,
			  number ? takt_station(&flows->stations, number)->applied_ppm :
				    TAKT_SCALE_WHOLE, now_ns);
	return 0;
}

/* The next entity that was made for this address while it was unknown, or 0. */
TAKT_FN_OUT u32 takt_station_unknown_next(struct takt_flows *flows TAKT_ARG, u32 number)
{
	struct takt_station *station = takt_station(&flows->stations, number);
	u32 i;

	TAKT_FOR (i, 0, TAKT_STATION_CHECKS) {
		const struct takt_flow *flow;
		u32 id;

		if (station->hand >= flows->fresh)
			break;
		id = TAKT_FLOW_FIRST + station->hand++;
		flow = takt_flow(flows, id);
		if (flow->to.word[1] == station->address.word[1] &&
		    flow->to.word[0] == station->address.word[0] && flow->identity)
			return id;
	}
	if (station->hand >= flows->fresh)
		station->hand = TAKT_FLOWS_MAX;
	return 0;
}

/*
 * A station's weight or its entry's address may have changed: go on with its next entity. Returns
 * whether that was the last.
 */
TAKT_FN_OUT int takt_station_weigh(struct takt_link *link TAKT_ARG,
				   const struct takt_plan *plan TAKT_ARG, u32 number, u64 now_ns)
{
	struct takt_stations *stations = &link->flows.stations;
	struct takt_station *station = takt_station(stations, number);
	u32 weight_ppm = takt_station_weight(stations, station, plan->stations);
	u32 id = station->first;

	if (station->known != station->incarnation) {
		if (id)
			takt_station_claim(link, plan, 0, id, now_ns);
		else
			takt_station_adopt(stations, station, plan->stations);
		return 0;
	}
	if (station->hand < TAKT_FLOWS_MAX && station->state == TAKT_STATION_THERE) {
		id = takt_station_unknown_next(&link->flows, number);
		if (id)
			takt_station_claim(link, plan, number, id, now_ns);
		return 0;
	}
	if (station->applied_ppm != weight_ppm) {
		station->applied_ppm = weight_ppm;
		station->left = station->entities;
	}
	if (!station->left || !id)
		return 1;
	station->left--;
	station->first = takt_flow(&link->flows, id)->next_of;
	takt_entity_weigh(link, plan, id, weight_ppm, now_ns);
	return !station->left;
}

/* The link is asked for a packet: apply what has changed, a few entities at a time. */
TAKT_FN_OUT int takt_link_weigh(struct takt_link *link TAKT_ARG,
				const struct takt_plan *plan TAKT_ARG, u64 now_ns)
{
	struct takt_stations *stations = &link->flows.stations;
	u32 i, number;

	takt_stations_observe(stations, now_ns);
	TAKT_FOR (i, 0, TAKT_WEIGHS_MAX) {
		if (!stations->unsettled)
			break;
		number = takt_stations_pending(stations);
		if (number && takt_station_weigh(link, plan, number, now_ns))
			takt_station_settled(stations, number);
	}
	return 0;
}

/* Assign the entity to the station of its address, if that is known by now. */
TAKT_FN void takt_station_attach(struct takt_link *link, const struct takt_plan *plan, u32 id,
				 u64 now_ns)
{
	struct takt_flows *flows = &link->flows;
	struct takt_flow *flow = takt_flow(flows, id);
	u32 generation = flows->stations.generation;
	u32 number = takt_station_find(&flows->stations, &flow->to);
	struct takt_station *station = takt_station(&flows->stations, number);

	if (number && station->known != station->incarnation) {
		/* The entry still has entities of its former address: ask again. */
		if (station->first)
			return;
		takt_station_adopt(&flows->stations, station, plan->stations);
	}
	flow->generation = generation;
	takt_station_claim(link, plan, number, id, now_ns);
}

/* The station's entity in this class, or 0: it has none. */
TAKT_FN u32 takt_station_entity(struct takt_link *link, const struct takt_address *to,
				u32 class_id)
{
	return takt_flow_find(&link->flows, takt_station_identity(to, class_id, link->secret));
}

/* Was its station looked up since addresses came or went? */
TAKT_FN int takt_station_is_settled(const struct takt_link *link, const struct takt_flow *flow)
{
	return flow->generation == link->flows.stations.generation;
}

/* The entity may be of another kind by now: then it has another part of its station's weight. */
TAKT_FN_OUT int takt_station_turn(struct takt_link *link TAKT_ARG,
				  const struct takt_plan *plan TAKT_ARG, u32 id, u64 now_ns)
{
	const struct takt_flow *flow = takt_flow(&link->flows, id);
	u32 scale_ppm = takt_entity(&link->order, id)->scale_ppm, weight_ppm;

	if (!flow->station)
		return 0;
	weight_ppm = takt_station(&link->flows.stations, flow->station)->applied_ppm;
	if (weight_ppm &&
	    scale_ppm != takt_max(takt_kind_weight(flow, weight_ppm), TAKT_SCALE_MIN))
		takt_entity_weigh(link, plan, id, weight_ppm, now_ns);
	return 0;
}

/*
 * A packet for a station that has no entity in this class (newcomer->class_id; id 0), or whose
 * station has to be looked up again, or whose packets are of another kind by now: its entity, or
 * the class's if the table is full.
 * newcomer->identity is not kept.
 */
TAKT_FN_OUT u32 takt_station_newcomer(struct takt_link *link TAKT_ARG,
				      const struct takt_plan *plan TAKT_ARG,
				      struct takt_newcomer *newcomer TAKT_ARG, u32 id,
				      u64 now_ns)
{
	struct takt_flows *flows = &link->flows;
	u32 i, checks = takt_flow_checks(flows), class_id = newcomer->class_id;

	if (!id) {
		for (i = 0; i < TAKT_FLOW_CHECKS_FULL && i < checks; i++)
			takt_flow_reclaim(flows, &link->order, 0, now_ns);
		newcomer->identity = takt_station_identity(&newcomer->to, class_id, link->secret);
		newcomer->cookie = 0;
		id = takt_flow_add(flows, &link->order, newcomer, class_id, now_ns);
		if (!id) {
			flows->no_room++;
			return class_id;
		}
		takt_kind_begin(takt_flow(flows, id), newcomer->key.proto);
	}
	takt_station_attach(link, plan, id, now_ns);
	takt_station_turn(link, plan, id, now_ns);
	return id;
}

#endif
