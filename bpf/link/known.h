/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Packets of known connections. Most packets of a link that is not full take the fast path, and
 * most others join packets of their entity, so nothing is read here that only other packets need
 * (algo/short_way.h). All others go the general way, which decides the same where both can decide.
 */
#ifndef TAKT_KNOWN_H
#define TAKT_KNOWN_H

#include "connection.h"
#include "packet.h"
#include "ports_map.h"
#include "short_way.h"

/*
 * The packet's entity if the connection alone decides what becomes of it; or 0. The cache has
 * connections of full sockets only, so others are not found.
 */
static __always_inline u32 known_entity(const struct sk_buff *skb, struct takt_port *port)
{
	struct takt_link *link = &port->link;
	struct takt_connection *connection;
	const struct sock *sk = skb->sk;
	u64 identity;
	u32 id;

	if (!sk || skb->tstamp)
		return 0;
	identity = identity_of(sk, port);
	connection = takt_connection(&link->connections, identity);
	id = connection->id;
	if (connection->identity != identity ||
	    (id >= TAKT_FLOW_FIRST && takt_flow(&link->flows, id)->connection != identity) ||
	    (sk->sk_pacing_rate != ~0ULL && sk->sk_protocol != IPPROTO_TCP))
		return 0;
	return connection->known_in == link->short_in ? id : 0;
}

/* A packet of this entity goes a short way: its packet slot. 0: it goes the general way. */
static __always_inline u32 go_short(struct takt_link *link, u32 id, u32 len, u32 idle)
{
	struct takt_entity *entity = takt_entity(&link->order, id);

	if (!idle)
		return takt_short_join(link, entity, len);
	/* Here, as they must be kept in memory anyway while the clock is read. */
	link->fast_id = id;
	link->fast_len = len;
	return takt_short_pass(link, entity, bpf_ktime_get_ns()) ? TAKT_FAST_PATH : 0;
}

/* Likewise, for a packet of several frames, or where frames' lengths count. */
static __noinline u32 takt_link_go_long(const struct sk_buff *skb, struct takt_port *port, u32 id,
					u32 idle)
{
	const struct takt_framing *framing = &port->link.terms.framing;
	struct takt_entity *entity = takt_entity(&port->link.order, id);
	u32 bytes = accounted_bytes(skb), frames = frames_of(skb, bytes), len, slot;

	len = takt_framing_packet(framing, bytes, frames,
				  full_bytes_of(skb, framing, bytes, frames));
	slot = go_short(&port->link, id, len, idle);
	if (slot && frames > 1)
		takt_count_segment(entity, takt_params(plan_of(port), entity, id), len);
	return slot;
}

/*
 * The packet slot of a known connection's packet. 0: it is none, or goes the general way.
 */
static __always_inline u32 known_slot(const struct sk_buff *skb, const struct Qdisc *sch,
				      struct takt_port *port)
{
	struct takt_link *link = &port->link;
	u32 id = known_entity(skb, port), bytes;

	if (!id)
		return 0;
	bytes = accounted_bytes(skb);
	if (!TAKT_LIKELY(bytes == skb->len && !link->terms.framing.by_frame))
		return takt_link_go_long(skb, port, id, !sch->q.qlen);
	return go_short(link, id, bytes + link->terms.framing.overhead_bytes, !sch->q.qlen);
}

/*
 * A packet has gone the general way, by this plan. Do the next ones of its connection go short
 * ways? Not if a commit has put another plan in force meanwhile: it closes them before they are
 * opened here, or it is seen here.
 */
static __noinline int takt_link_open_short(struct takt_port *port, const struct takt_plan *plan)
{
	struct takt_link *link = &port->link;
	u64 identity = port->newcomer.identity;
	struct takt_connection *connection;
	struct takt_entity *entity;
	u32 short_in;

	takt_short_open(link, plan);
	if (plan_of(port)->generation != plan->generation)
		link->short_in = 0;
	connection = takt_connection(&link->connections, identity);
	if (connection->identity != identity ||
	    connection->known_in != takt_known_in(link->generation, 0))
		return 0;
	entity = takt_entity(&link->order, connection->id);
	short_in = takt_short_begin(link, entity, takt_params(plan, entity, connection->id),
				    takt_arrival_len(plan, &port->arrival), port->arrival.now_ns);
	if (short_in)
		connection->known_in = short_in;
	return 0;
}

#endif
