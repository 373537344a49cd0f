/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Flows by themselves: which element is this flow's, and which flow may be
 * forgotten? (Paper 004, section 4 (3): queues are made as flows appear.)
 *
 * A flow is known by one number, made of its socket or of its 5-tuple. There is
 * room for so many and no more. A flow without packets whose clocks are due
 * holds nothing worth keeping: it would start just like a new one. So
 *   - one whose socket closed, or that rested for TAKT_FLOW_IDLE_NS, is
 *     forgotten as others come: each newcomer looks at two;
 *   - when there is no room, a newcomer looks for any that is at rest;
 *   - if it finds none, its packets go to the class's own queue and clock,
 *     which such newcomers share.
 * A flood of one-packet flows thus takes turns among those at rest, and those
 * that have packets waiting never notice.
 *
 * On a link with stations (station.h), it is a station in a class that has such
 * an element, by the same rules.
 */
#ifndef TAKT_FLOWS_H
#define TAKT_FLOWS_H

#include "classify.h"
#include "group.h"
#include "station.h"

#define TAKT_FLOW_FIRST TAKT_CLASSES	/* elements from here on are flows, or stations */
#define TAKT_FLOWS_MAX (TAKT_ELEMENTS - TAKT_FLOW_FIRST)
#define TAKT_FLOW_BUCKETS 32768
#define TAKT_FLOW_CHAIN_MAX 32
#define TAKT_FLOW_LOOKS 2
#define TAKT_FLOW_LOOKS_FULL 16
#define TAKT_FLOW_IDLE_NS 10000000000ULL	/* 10 s */

struct takt_flow {
	u64 identity;	/* 0: nobody's */
	u64 cookie;	/* of its socket; 0: forwarded, or not known */
	u64 rest_ns;	/* since when it has no packets */
	u32 next;	/* of its bucket, or free; an element id */
	u32 era;	/* that it was last put into its class in; see takt_link.era. Of a
			 * station: the generation that it was last looked for in */
	struct takt_key key;
	struct takt_address to;	/* of a station: its address, and ... */
	u16 station;		/* ... its number; 0: nobody knows it */
	u16 next_of, prev_of;	/* others of the station, in a ring */
	u16 pad;
};

struct takt_flows {
	u32 fresh;	/* flows used at least once */
	u32 free;	/* an element id, or 0 */
	u32 hand;	/* whom a newcomer looks at next */
	u32 live;
	u64 created, forgotten;
	u64 no_room;	/* packets that shared the class's own clock */
	struct takt_stations stations;
	u16 bucket[TAKT_FLOW_BUCKETS];
	struct takt_flow flow[TAKT_FLOWS_MAX];
};

/*
 * Where the packets of a connection went last, so that its headers need not be
 * read again: as good as a classification in the same era, if that
 * makes no difference among the packets of a connection (takt_plan.sticky).
 */
#define TAKT_CONNECTIONS 16384

struct takt_connection {
	u64 identity;
	u32 era;
	u32 id;		/* an element's */
};

struct takt_connections {
	struct takt_connection at[TAKT_CONNECTIONS];
};

struct takt_newcomer {
	u64 identity, cookie;
	u32 era;
	u32 class_id;		/* of a station's */
	struct takt_key key;
	struct takt_address to;	/* the station that it goes to */
};

TAKT_FN struct takt_flow *takt_flow(struct takt_flows *flows, u32 id)
{
	u32 index = id - TAKT_FLOW_FIRST;

	return &flows->flow[index < TAKT_FLOWS_MAX ? index : 0];
}

TAKT_FN u16 *takt_flow_bucket(struct takt_flows *flows, u64 identity)
{
	return &flows->bucket[identity * 0x9e3779b97f4a7c15ULL >> 49 & (TAKT_FLOW_BUCKETS - 1)];
}

TAKT_FN struct takt_connection *takt_connection(struct takt_connections *connections,
						u64 identity)
{
	return &connections->at[identity * 0x9e3779b97f4a7c15ULL >> 50 & (TAKT_CONNECTIONS - 1)];
}

/* The element that the connection's packets go to, or 0: not known. */
TAKT_FN u32 takt_connection_find(struct takt_connections *connections,
				 struct takt_flows *flows, u64 identity, u32 era)
{
	struct takt_connection *connection = takt_connection(connections, identity);
	u32 id = connection->id;

	if (connection->identity != identity || connection->era != era)
		return 0;
	if (id >= TAKT_FLOW_FIRST && takt_flow(flows, id)->identity != identity)
		return 0;
	return id;
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

/* The flow's element, or 0. */
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

/* The flow has sent its last packet for now. */
TAKT_FN void takt_flow_rest(struct takt_flows *flows, u32 id, u64 now_ns)
{
	if (id >= TAKT_FLOW_FIRST)
		takt_flow(flows, id)->rest_ns = now_ns;
}

/* Whom will the next newcomer look at? 0: there is nobody. */
TAKT_FN u32 takt_flow_candidate(const struct takt_flows *flows)
{
	return flows->fresh ? TAKT_FLOW_FIRST + flows->hand % flows->fresh : 0;
}

TAKT_FN int takt_flow_at_rest(struct takt_order *order, u32 id, u64 now_ns)
{
	struct takt_element *element = takt_element(order, id);
	u64 clock_ns = takt_clock_of(order, element, now_ns);

	return !element->queue.packets &&
	       takt_max(element->pace.due_ns, element->guarantee.due_ns) <= clock_ns;
}

TAKT_FN void takt_stats_add(struct takt_class_stats *to, const struct takt_class_stats *from)
{
	to->enqueued_packets += from->enqueued_packets;
	to->enqueued_bytes += from->enqueued_bytes;
	to->sent_packets += from->sent_packets;
	to->sent_bytes += from->sent_bytes;
	to->dropped_packets += from->dropped_packets;
	to->dropped_bytes += from->dropped_bytes;
	to->flushed_packets += from->flushed_packets;
	to->flushed_bytes += from->flushed_bytes;
	to->late_max_ns = takt_max(to->late_max_ns, from->late_max_ns);
	to->gso_packets += from->gso_packets;
}

/* The element joins its station's others, as the last of them. */
TAKT_FN void takt_station_join(struct takt_flows *flows, u32 number, u32 id)
{
	struct takt_station *station = takt_station(&flows->stations, number);
	struct takt_flow *flow = takt_flow(flows, id), *first;

	flow->station = number;
	flow->next_of = flow->prev_of = id;
	if (station->first) {
		first = takt_flow(flows, station->first);
		flow->next_of = station->first;
		flow->prev_of = first->prev_of;
		takt_flow(flows, first->prev_of)->next_of = id;
		first->prev_of = id;
	} else {
		station->first = id;
	}
	station->elements++;
}

TAKT_FN void takt_station_part(struct takt_flows *flows, u32 id)
{
	struct takt_flow *flow = takt_flow(flows, id);
	struct takt_station *station = takt_station(&flows->stations, flow->station);

	takt_flow(flows, flow->next_of)->prev_of = flow->prev_of;
	takt_flow(flows, flow->prev_of)->next_of = flow->next_of;
	if (station->first == id)
		station->first = flow->next_of == id ? 0 : flow->next_of;
	station->elements--;
	flow->station = 0;
}

/* Nobody finds the flow by its identity any more. */
TAKT_FN_OUT int takt_flow_unlink(struct takt_flows *flows TAKT_ARG, u32 id)
{
	struct takt_flow *flow = takt_flow(flows, id);
	u16 *bucket = takt_flow_bucket(flows, flow->identity);
	u32 at = *bucket, i;

	if (at == id) {
		*bucket = flow->next;
		return 0;
	}
	for (i = 0; i < TAKT_FLOW_CHAIN_MAX && at; i++) {
		struct takt_flow *before = takt_flow(flows, at);

		at = before->next;
		if (at == id)
			before->next = flow->next;
	}
	return 0;
}

/* Forget the flow; what it counted goes to its class. It has no packets. */
TAKT_FN_OUT int takt_flow_forget(struct takt_flows *flows TAKT_ARG,
				 struct takt_order *order TAKT_ARG, u32 id)
{
	struct takt_flow *flow = takt_flow(flows, id);
	struct takt_element *element = takt_element(order, id);

	takt_flow_unlink(flows, id);
	takt_stats_add(&takt_element(order, element->class_id)->stats, &element->stats);
	if (flow->station) {
		takt_stats_add(&takt_station(&flows->stations, flow->station)->past,
			       &element->stats);
		takt_station_part(flows, id);
	}
	element->stats = (struct takt_class_stats){};
	flow->identity = 0;
	flow->cookie = 0;
	flow->next = flows->free;
	flows->free = id;
	flows->live--;
	flows->forgotten++;
	return 0;
}

/* The plan, or a registration, has put the flow into another class; its packets go along. */
TAKT_FN_OUT int takt_flow_follow(struct takt_flows *flows TAKT_ARG,
				 struct takt_order *order TAKT_ARG, u32 id, u32 class_id,
				 u32 era)
{
	struct takt_element *element = takt_element(order, id);
	struct takt_class_stats *old = &takt_element(order, element->class_id)->stats;

	takt_flow(flows, id)->era = era;
	if (element->class_id == class_id)
		return 0;
	takt_stats_add(old, &element->stats);
	old->enqueued_packets -= element->queue.packets;
	old->enqueued_bytes -= element->queue.bytes;
	element->stats = (struct takt_class_stats){
		.enqueued_packets = element->queue.packets,
		.enqueued_bytes = element->queue.bytes,
	};
	element->class_id = class_id;
	return 0;
}

/* A newcomer passes by the candidate; `closed`: its socket is gone. */
TAKT_FN_OUT int takt_flow_look(struct takt_flows *flows TAKT_ARG,
			       struct takt_order *order TAKT_ARG, u32 closed, u64 now_ns)
{
	u32 id = takt_flow_candidate(flows);
	struct takt_flow *flow = takt_flow(flows, id);
	int full = !flows->free && flows->fresh == TAKT_FLOWS_MAX;

	flows->hand++;
	if (!id || !flow->identity || !takt_flow_at_rest(order, id, now_ns))
		return 0;
	if (closed || full || flow->rest_ns + TAKT_FLOW_IDLE_NS < now_ns)
		takt_flow_forget(flows, order, id);
	return 0;
}

/* Does a newcomer have to look for a place, or will there be one? */
TAKT_FN u32 takt_flow_looks(const struct takt_flows *flows)
{
	return flows->free || flows->fresh < TAKT_FLOWS_MAX ? TAKT_FLOW_LOOKS :
							      TAKT_FLOW_LOOKS_FULL;
}

/* Give the newcomer an element of its own: its id, or 0 if there is no room. */
TAKT_FN_OUT u32 takt_flow_add(struct takt_flows *flows TAKT_ARG,
			      struct takt_order *order TAKT_ARG,
			      const struct takt_newcomer *newcomer TAKT_ARG, u32 class_id,
			      u64 now_ns)
{
	u16 *bucket = takt_flow_bucket(flows, newcomer->identity);
	struct takt_element *element;
	struct takt_flow *flow;
	u32 id = *bucket, i;

	for (i = 1; i < TAKT_FLOW_CHAIN_MAX && id; i++)
		id = takt_flow(flows, id)->next;
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
	flow->cookie = newcomer->cookie;
	flow->key = newcomer->key;
	flow->era = newcomer->era;
	flow->to = newcomer->to;
	flow->station = 0;
	flow->rest_ns = now_ns;
	flow->next = *bucket;
	*bucket = id;
	flows->live++;
	flows->created++;

	element = takt_element(order, id);
	element->class_id = class_id;
	element->pace = (struct takt_clock){};
	element->guarantee = (struct takt_clock){};
	element->share = (struct takt_clock){};
	element->floor = (struct takt_clock){};
	element->task_prio = TAKT_TASK_UNKNOWN;
	element->held = 0;
	element->scale_ppm = 0;
	return id;
}

#endif
