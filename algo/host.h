/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Hosts: capacity is divided among the hosts of a class, and within a host among its flows. So a
 * host that opens many flows has no more than one with a single flow.
 *
 * A host takes turns in its class as a flow does (flow_queue.h), and has lists of flows of its own.
 * It is known by a number made of its address and its class, and exists while a flow of it is in a
 * list, or while it owes bytes. When the table has no room for one, its flows take turns as if each
 * were a host.
 *
 * Not here: which address is a host's, and whose number a flow has (flow_table.h).
 */
#ifndef TAKT_HOST_H
#define TAKT_HOST_H

#include "entity.h"

#define TAKT_HOSTS 2048
#define TAKT_HOST_PLACES 8	/* where one may be in the table */
/* In lists of turns, numbers of hosts follow those of entities. */
#define TAKT_HOST_FIRST TAKT_ENTITIES

#define TAKT_FLOW_QUANTUM 1514		/* bytes of a turn: one full frame */

struct takt_host {
	u64 identity;	/* of its address and its class; 0: unused */
	struct takt_flow_turn turn;	/* its own, in its class */
	struct takt_flow_list list[2];	/* its flows, but for those in its class's lists */
	struct takt_flow_rounds rounds;
	u32 flows;	/* of it, in its lists or its class's */
};

struct takt_hosts {
	struct takt_host host[TAKT_HOSTS];
};

TAKT_FN struct takt_host *takt_host(struct takt_hosts *hosts, u32 id)
{
	return &hosts->host[(id - TAKT_HOST_FIRST) & (TAKT_HOSTS - 1)];
}

/* The number of a host by its address, as in a key; never 0. */
TAKT_FN u64 takt_host_identity(const u32 *address, u64 secret)
{
	u64 high = (u64)address[0] << 32 | address[1], low = (u64)address[2] << 32 | address[3];
	u64 sum = (high ^ high >> 29) * (secret * 0xbf58476d1ce4e5b9ULL | 1);

	sum = (sum ^ sum >> 32 ^ low) * (secret * 0x94d049bb133111ebULL | 1);
	sum ^= sum >> 31;
	return sum ? sum : 1;
}

/* The number of the host whose packet this is, by the addresses that the packet has; 0: none. */
TAKT_FN u64 takt_host_of(const struct takt_plan *plan, const struct takt_key *key, u64 secret)
{
	if (plan->hosts == TAKT_HOSTS_NONE)
		return 0;
	return takt_host_identity(plan->hosts == TAKT_HOSTS_SOURCES ? key->src : key->dst, secret);
}

/*
 * The host with this number in this class, which is made if there is none. 0: there is no room for
 * it. Precondition: the number is not 0.
 */
TAKT_FN_OUT u32 takt_host_find(struct takt_hosts *hosts TAKT_ARG, u64 identity, u32 class_id)
{
	u32 free = 0, i;
	struct takt_host *host;

	identity = (identity ^ class_id * 0x9e3779b97f4a7c15ULL) * 0xbf58476d1ce4e5b9ULL | 1;
	TAKT_FOR (i, 0, TAKT_HOST_PLACES) {
		u32 id = TAKT_HOST_FIRST + (((identity >> 48) + i) & (TAKT_HOSTS - 1));

		host = takt_host(hosts, id);
		if (host->identity == identity)
			return id;
		if (!host->identity && !free)
			free = id;
	}
	if (!free)
		return 0;
	host = takt_host(hosts, free);
	*host = (struct takt_host){
		.identity = identity,
		.turn.credit_bytes = TAKT_FLOW_QUANTUM,
	};
	return free;
}

/* It has no flow in a list and takes no turn: forget it. */
TAKT_FN void takt_host_settle(struct takt_host *host)
{
	if (!host->flows && !host->turn.class_id)
		host->identity = 0;
}

#endif
