/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The fast path (algo/link.h) for a packet of a known connection. Most packets of a link that is
 * not full take it, so nothing is read here that only other packets need. All others go the general
 * way, which decides the same where both can decide.
 */
#ifndef TAKT_FAST_PATH_H
#define TAKT_FAST_PATH_H

#include "connection.h"
#include "link.h"
#include "packet.h"
#include "store.h"

/*
 * Charge the packet for the fast path. Returns its bytes as the kernel counts; 0: not this way.
 *
 * The cache has connections of full sockets only, so others are not found.
 */
static __always_inline u32 fast_path_bytes(const struct sk_buff *skb, struct takt_port *port,
					   const struct takt_plan *plan)
{
	struct takt_link *link = &port->link;
	const struct takt_class_params *params;
	const struct sock *sk = skb->sk;
	struct takt_connection *connection;
	struct takt_entity *entity;
	u32 id, bytes, frames, len;
	u64 identity, now_ns;

	if (!sk || skb->tstamp || link->plan_generation != (u32)plan->generation)
		return 0;
	identity = identity_of(sk, port);
	connection = takt_connection(&link->connections, identity);
	id = takt_connection_entity(connection, &link->flows, identity, link->generation);
	if (!id || (sk->sk_pacing_rate != ~0ULL && sk->sk_protocol != IPPROTO_TCP))
		return 0;
	entity = takt_entity(&link->order, id);
	params = takt_params(plan, entity, id);
	if (!connection->has_fast_path) {
		if (params->per_flow == TAKT_PER_FLOW_QUEUE ||
		    !takt_has_fast_path(link, entity, params))
			return 0;
		connection->has_fast_path = 1;
	}
	bytes = accounted_bytes(skb);
	frames = frames_of(skb, bytes);
	len = bytes + frames * plan->overhead_bytes;
	now_ns = bpf_ktime_get_ns();
	if (link->clock.due_ns > now_ns ||
	    !takt_takes_fast_path(link, entity, params, len, now_ns))
		return 0;
	takt_link_pass(link, plan, entity, id, frames, len, now_ns);
	return bytes;
}

#endif
