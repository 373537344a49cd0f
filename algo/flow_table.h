/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The flow table: which entity belongs to this flow, and which flow may be removed? (PSPacer,
 * section 4 (3): queues are made as flows appear.)
 *
 * A flow is known by one number, made of its socket or of its 5-tuple. The table has a fixed
 * size. A flow without packets whose clocks are due has no state worth keeping: it would start
 * like a new one. So
 *   - a flow whose socket closed, or that was idle for TAKT_FLOW_IDLE_NS, is
 *     removed as others come: each newcomer checks two;
 *   - when the table is full, a newcomer looks for any idle flow;
 *   - if it finds none, its packets go to the class's own queue and clock,
 *     which such newcomers share.
 * So a flood of one-packet flows replaces only idle flows, and backlogged flows are not affected.
 *
 * On a link with stations the table holds a station's entity in each class, by the same rules.
 */
#ifndef TAKT_FLOW_TABLE_H
#define TAKT_FLOW_TABLE_H

#include "flow_queue.h"
#include "station_ring.h"

#define TAKT_FLOW_CHAIN_MAX 32
#define TAKT_FLOW_CHECKS 2
#define TAKT_FLOW_CHECKS_FULL 16
#define TAKT_FLOW_IDLE_NS 10000000000ULL	/* 10 s */

/* The flow of a packet that arrives, before it has an entity. */
struct takt_newcomer {
	u64 identity, connection, cookie;
	u64 host;		/* the number of its host, or 0 */
	u64 conntrack;		/* skb->_nfct, where hosts share */
	u64 inside;		/* the number of its host behind NAT, if bpf/inside has found it */
	u32 generation;
	u32 class_id;		/* of a station's */
	struct takt_key key;
	struct takt_address to;	/* the station that it goes to */
};

TAKT_FN u16 *takt_flow_bucket(struct takt_flows *flows, u64 identity)
{
	return &flows->bucket[identity * 0x9e3779b97f4a7c15ULL >> 49 & (TAKT_FLOW_BUCKETS - 1)];
}

/* The number of a flow that is known by its headers only. */
TAKT_FN u64 takt_flow_identity(const struct takt_key *key, u64 secret)
{
	const takt_word *word = takt_words(key);
	u64 ports = (u64)key->src_port << 16 | key->dst_port, sum;

	sum = ((u64)key->proto << 32 | ports) * (secret | 1);
	sum = (sum ^ sum >> 29 ^ word[2]) * (secret * 0xbf58476d1ce4e5b9ULL | 1);
	sum = (sum ^ sum >> 32 ^ word[3]) * (secret * 0x94d049bb133111ebULL | 1);
	sum = (sum ^ sum >> 29 ^ word[4]) * (secret * 0xd6e8feb86659fd93ULL | 1);
	sum = (sum ^ sum >> 32 ^ word[5]) * (secret * 0xa0761d6478bd642fULL | 1);
	sum ^= sum >> 31;
	return sum ? sum : 1;
}

/*
 * The number of a flow in a class whose flows take turns. Packets of one flow may belong to several
 * classes, by their DSCP or by who sent them, and each class has a queue for them.
 */
TAKT_FN u64 takt_flow_in_class(u64 identity, u32 class_id)
{
	identity ^= class_id * 0x9e3779b97f4a7c15ULL;
	return identity ? identity : 1;
}

/* The flow's entity, or 0. */
TAKT_FN_OUT u32 takt_flow_find(struct takt_flows *flows TAKT_ARG, u64 identity)
{
	u32 id = *takt_flow_bucket(flows, identity), i;

	for (i = 0; i < TAKT_FLOW_CHAIN_MAX && id; i++) {
		struct takt_flow *flow = takt_flow(flows, id);

		if (flow->identity == identity)
			return id;
		id = flow->next;
	}
	return 0;
}

/* The flow has sent its last packet: it is idle. */
TAKT_FN void takt_flow_went_idle(struct takt_flows *flows, u32 id, u64 now_ns)
{
	if (id >= TAKT_FLOW_FIRST)
		takt_flow(flows, id)->idle_ns = now_ns;
}

/* The flow that the next newcomer checks; 0: there is none. */
TAKT_FN u32 takt_flow_candidate(const struct takt_flows *flows)
{
	return flows->fresh ? TAKT_FLOW_FIRST + flows->hand % flows->fresh : 0;
}

/* Is the flow idle: no packets, and its clocks due? */
TAKT_FN int takt_flow_is_idle(struct takt_order *order, u32 id, u64 now_ns)
{
	struct takt_entity *entity = takt_entity(order, id);
	u64 clock_ns = takt_clock_of(order, entity, now_ns);

	return !entity->queue.packets && !entity->held_packets &&
	       takt_max(entity->pace.due_ns, entity->guarantee.due_ns) <= clock_ns;
}

/* Take the flow out of its bucket. */
TAKT_FN_OUT int takt_flow_unlink(struct takt_flows *flows TAKT_ARG, u32 id)
{
	struct takt_flow *flow = takt_flow(flows, id);
	u16 *bucket = takt_flow_bucket(flows, flow->identity);
	u32 at = *bucket, i;

	if (at == id) {
		*bucket = flow->next;
		return 0;
	}
	TAKT_FOR (i, 0, TAKT_FLOW_CHAIN_MAX) {
		struct takt_flow *before = takt_flow(flows, at);

		if (!at)
			break;
		at = before->next;
		if (at == id)
			before->next = flow->next;
	}
	return 0;
}

/* Remove the flow; its counters are added to its class's. It has no packets. */
TAKT_FN void takt_flow_forget(struct takt_flows *flows, struct takt_order *order, u32 id)
{
	struct takt_flow *flow = takt_flow(flows, id);
	struct takt_entity *entity = takt_entity(order, id);

	takt_flow_unlink(flows, id);
	takt_flow_detach(order, id);
	takt_entity_sum(entity);
	takt_stats_add(&takt_entity(order, entity->class_id)->stats, &entity->stats);
	if (flow->station) {
		takt_stats_add(&takt_station(&flows->stations, flow->station)->past,
			       &entity->stats);
		takt_station_part(flows, id);
	}
	entity->stats = (struct takt_class_stats){};
	flow->identity = 0;
	flow->cookie = 0;
	flow->next = flows->free;
	flows->free = id;
	flows->live--;
	flows->forgotten++;
}

/* The plan, or a registration, has put the flow into another class; its packets move along. */
TAKT_FN_OUT int takt_flow_follow(struct takt_flows *flows TAKT_ARG,
				 struct takt_order *order TAKT_ARG, u32 id, u32 class_id,
				 u32 generation)
{
	struct takt_entity *entity = takt_entity(order, id);
	struct takt_class_stats *old = &takt_entity(order, entity->class_id)->stats;

	takt_flow(flows, id)->generation = generation;
	if (entity->class_id == class_id)
		return 0;
	takt_entity_sum(entity);
	takt_stats_add(old, &entity->stats);
	old->enqueued_packets -= entity->queue.packets;
	old->enqueued_bytes -= entity->queue.bytes;
	entity->stats = (struct takt_class_stats){
		.enqueued_packets = entity->queue.packets,
		.enqueued_bytes = entity->queue.bytes,
	};
	entity->class_id = class_id;
	entity->short_in = 0;
	return 0;
}

/* A newcomer checks the candidate; `closed`: its socket is gone. */
TAKT_FN_OUT int takt_flow_reclaim(struct takt_flows *flows TAKT_ARG,
				  struct takt_order *order TAKT_ARG, u32 closed, u64 now_ns)
{
	u32 id = takt_flow_candidate(flows);
	struct takt_flow *flow = takt_flow(flows, id);
	int full = !flows->free && flows->fresh == TAKT_FLOWS_MAX;

	flows->hand++;
	if (!id || !flow->identity || !takt_flow_is_idle(order, id, now_ns))
		return 0;
	if (closed || full || flow->idle_ns + TAKT_FLOW_IDLE_NS < now_ns)
		takt_flow_forget(flows, order, id);
	return 0;
}

/* How many candidates must a newcomer check for a free entry? */
TAKT_FN u32 takt_flow_checks(const struct takt_flows *flows)
{
	return flows->free || flows->fresh < TAKT_FLOWS_MAX ? TAKT_FLOW_CHECKS :
							      TAKT_FLOW_CHECKS_FULL;
}

/* Give the newcomer an entity of its own: its id, or 0 if the table is full. */
TAKT_FN_OUT u32 takt_flow_add(struct takt_flows *flows TAKT_ARG,
			      struct takt_order *order TAKT_ARG,
			      const struct takt_newcomer *newcomer TAKT_ARG, u32 class_id,
			      u64 now_ns)
{
	u16 *bucket = takt_flow_bucket(flows, newcomer->identity);
	struct takt_entity *entity;
	struct takt_flow *flow;
	u32 id = *bucket, i;

	if (id) {
		TAKT_FOR (i, 1, TAKT_FLOW_CHAIN_MAX) {
			id = takt_flow(flows, id)->next;
			if (!id)
				break;
		}
	}
	if (id)
		return 0; /* it would never be found again */
	id = flows->free;
	if (id)
		flows->free = takt_flow(flows, id)->next;
	else if (flows->fresh < TAKT_FLOWS_MAX)
		id = TAKT_FLOW_FIRST + flows->fresh++;
	else
		return 0;
	flow = takt_flow(flows, id);
	flow->identity = newcomer->identity;
	flow->connection = newcomer->connection;
	flow->cookie = newcomer->cookie;
	flow->key = newcomer->key;
	flow->generation = newcomer->generation;
	flow->to = newcomer->to;
	flow->station = 0;
	flow->idle_ns = now_ns;
	flow->paced_ns = 0;
	flow->host = newcomer->host;
	flow->next = *bucket;
	*bucket = id;
	flows->live++;
	flows->created++;

	entity = takt_entity(order, id);
	entity->class_id = class_id;
	entity->short_in = 0;
	entity->pace = (struct takt_clock){};
	entity->guarantee = (struct takt_clock){};
	entity->share = (struct takt_clock){};
	entity->floor = (struct takt_clock){};
	entity->codel = (struct takt_codel){};
	entity->task_prio = TAKT_TASK_UNKNOWN;
	entity->throttled = 0;
	entity->scale_ppm = 0;
	return id;
}

#endif
