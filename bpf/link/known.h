/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Packets of known connections. Most packets of a link that is not full take the fast path
 * (algo/link.h), and most others join packets of their entity, so nothing is read here that only
 * other packets need. All others go the general way, which decides the same where both can decide.
 */
#ifndef TAKT_KNOWN_H
#define TAKT_KNOWN_H

#include "connection.h"
#include "link.h"
#include "packet.h"
#include "store.h"

/*
 * The packet's connection if the connection alone decides what becomes of it; or NULL.
 *
 * The cache has connections of full sockets only, so others are not found.
 */
static __always_inline struct takt_connection *known_connection(const struct sk_buff *skb,
								struct takt_port *port,
								const struct takt_plan *plan)
{
	struct takt_link *link = &port->link;
	struct takt_connection *connection;
	const struct sock *sk = skb->sk;
	u64 identity;

	if (!plan->fast_by_connection || !sk || skb->tstamp ||
	    link->plan_generation != (u32)plan->generation)
		return NULL;
	identity = identity_of(sk, port);
	connection = takt_connection(&link->connections, identity);
	if (!takt_connection_entity(connection, &link->flows, identity, link->generation) ||
	    (sk->sk_pacing_rate != ~0ULL && sk->sk_protocol != IPPROTO_TCP))
		return NULL;
	return connection;
}

/* Charge the packet for the fast path of an idle link. 0: it does not go this way. */
static __always_inline u32 pass_known(struct takt_link *link, const struct takt_plan *plan,
				      struct takt_connection *connection, u32 frames, u32 len)
{
	u32 id = connection->id;
	struct takt_entity *entity = takt_entity(&link->order, id);
	const struct takt_class_params *params = takt_params(plan, entity, id);
	u64 now_ns;

	if (!connection->has_fast_path) {
		if (params->per_flow == TAKT_PER_FLOW_QUEUE ||
		    !takt_has_fast_path(link, entity, params))
			return 0;
		connection->has_fast_path = 1;
	}
	now_ns = bpf_ktime_get_ns();
	if (link->clock.due_ns > now_ns ||
	    !takt_takes_fast_path(link, entity, params, len, now_ns))
		return 0;
	takt_link_pass(link, plan, entity, id, frames, len, now_ns);
	return TAKT_FAST_PATH;
}

/* Queue the packet behind others of its entity: its packet slot, or 0: it does not go this way. */
static __always_inline u32 join_known(struct takt_link *link, const struct takt_plan *plan,
				      const struct takt_connection *connection, u32 frames, u32 len)
{
	u32 id = connection->id;
	struct takt_entity *entity = takt_entity(&link->order, id);

	return takt_link_join(link, entity, takt_params(plan, entity, id), frames, len);
}

/*
 * The packet slot of a known connection's packet, and its bytes as the kernel counts. 0: it is
 * none, or goes the general way.
 */
static __always_inline u32 known_slot(const struct sk_buff *skb, struct takt_port *port,
				      const struct takt_plan *plan, u32 idle, u32 *bytes)
{
	struct takt_connection *connection = known_connection(skb, port, plan);
	u32 frames, len;

	if (!connection)
		return 0;
	*bytes = accounted_bytes(skb);
	frames = frames_of(skb, *bytes);
	len = takt_framing_packet(&plan->framing, *bytes, frames,
				  full_bytes_of(skb, &plan->framing, *bytes, frames));
	return idle ? pass_known(&port->link, plan, connection, frames, len) :
		      join_known(&port->link, plan, connection, frames, len);
}

#endif
