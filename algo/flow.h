/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A flow: an entity of one flow of a class, or of one station in a class (station.h), and what is
 * known of it beyond its clocks.
 */
#ifndef TAKT_FLOW_H
#define TAKT_FLOW_H

#include "classify.h"
#include "station.h"

#define TAKT_FLOW_FIRST TAKT_CLASSES	/* entities from here on are flows, or stations */
#define TAKT_FLOWS_MAX (TAKT_ENTITIES - TAKT_FLOW_FIRST)
#define TAKT_FLOW_BUCKETS 32768

struct takt_flow {
	u64 identity;	/* 0: unused */
	u64 connection;	/* the identity before its class was mixed in, see flow_table.h */
	u64 cookie;	/* of its socket; 0: forwarded, or not known */
	u64 idle_ns;	/* when it became idle */
	u64 paced_ns;	/* its socket's pacing rate lets the next packet leave; see departure.h */
	u64 host;	/* the number of its host, see host.h; 0: none */
	u32 next;	/* of its bucket, or free; an entity's id */
	u32 generation;	/* takt_link.generation when it was last put into its class. Of a
			 * station: the generation of its last look-up */
	struct takt_key key;
	struct takt_address to;	/* of a station: its address, and ... */
	u16 station;		/* ... its number; 0: unknown */
	u16 next_of, prev_of;	/* neighbours in the ring of the station's entities */
	u8 is_tcp;		/* of a station: what it carries, see kind.h, and ... */
	u8 unlike;		/* ... by how many packets that has changed */
};

struct takt_flows {
	u32 fresh;	/* flows used at least once */
	u32 free;	/* an entity's id, or 0 */
	u32 hand;	/* the flow that the next newcomer checks */
	u32 live;
	u64 created, forgotten;
	u64 no_room;	/* packets that shared the class's own clock */
	struct takt_stations stations;
	u16 bucket[TAKT_FLOW_BUCKETS];
	struct takt_flow flow[TAKT_FLOWS_MAX];
};

TAKT_FN struct takt_flow *takt_flow(struct takt_flows *flows, u32 id)
{
	u32 index = id - TAKT_FLOW_FIRST;

	return &flows->flow[index < TAKT_FLOWS_MAX ? index : 0];
}

#endif
