/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The entity of an arriving packet: its class, its flow or its station. */
#ifndef TAKT_ARRIVAL_H
#define TAKT_ARRIVAL_H

#include "before.h"
#include "connection.h"
#include "headers.h"
#include "inside.h"
#include "link_key.h"
#include "who.h"

/* The entity of a flow that is new. */
__noinline u32 takt_link_new_flow(struct takt_port *port TAKT_ARG,
				  const struct takt_newcomer *newcomer TAKT_ARG, u32 class_id)
{
	struct takt_flows *flows = &port->link.flows;
	struct takt_order *order = &port->link.order;
	u64 now_ns = bpf_ktime_get_ns();
	u32 i, id;

	bpf_for(i, 0, takt_flow_checks(flows)) {
		u64 cookie = takt_flow(flows, takt_flow_candidate(flows))->cookie;
		u32 closed = cookie && !bpf_map_lookup_elem(&takt_link_sockets, &cookie);

		takt_flow_reclaim(flows, order, closed, now_ns);
	}
	id = takt_flow_add(flows, order, newcomer, class_id, now_ns);
	if (id)
		return id;
	flows->no_room++;
	return class_id;
}

/* A packet's class by its headers, and its entity if the class tells flows apart. */
__noinline u32 takt_link_flow(struct takt_port *port TAKT_ARG,
			      const struct takt_plan *plan TAKT_ARG,
			      struct takt_newcomer *newcomer TAKT_ARG)
{
	u32 class_id = takt_classify(&plan->rules, &newcomer->key), per_flow, id;
	u64 connection = newcomer->identity;

	per_flow = plan->class_params[class_id & (TAKT_CLASSES - 1)].per_flow;
	if (per_flow == TAKT_PER_FLOW_NOTHING)
		return class_id;
	newcomer->connection = connection;
	if (!newcomer->identity)
		newcomer->identity = takt_flow_identity(&newcomer->key, port->link.secret);
	if (per_flow == TAKT_PER_FLOW_QUEUE)
		newcomer->identity = takt_flow_in_class(newcomer->identity, class_id);
	id = takt_flow_find(&port->link.flows, newcomer->identity);
	if (!id || takt_flow(&port->link.flows, id)->generation != newcomer->generation) {
		takt_link_find_host(port, plan, newcomer);
		if (!id) {
			id = takt_link_new_flow(port, newcomer, class_id);
		} else {
			/* It was last classified in an earlier configuration. */
			takt_link_follow(&port->link, plan, id, class_id, bpf_ktime_get_ns());
			takt_flow(&port->link.flows, id)->host = newcomer->host;
		}
	}
	newcomer->identity = connection;
	return id;
}

/* Read the packet's receiver over the air, on a link that knows stations by `by`. */
static __always_inline void read_station(const struct sk_buff *skb, u32 by,
					 struct takt_newcomer *newcomer)
{
	u64 data = (u64)skb->data;

	newcomer->to.word[0] = newcomer->to.word[1] = 0;
	if (by == TAKT_STATIONS_IP)
		takt_address_ip(&newcomer->to, &newcomer->key);
	else if (by == TAKT_STATIONS_MAC && skb->len - skb->data_len >= TAKT_ETH_HEADER_BYTES)
		takt_address_mac(&newcomer->to, (u64)takt_row(data) << 16 |
						(takt_row(data + 2) & 0xffff));
}

/* The entity of a packet's station in its class; the class's if there is no single station. */
static __always_inline u32 station_of(struct takt_port *port, const struct takt_plan *plan,
				      struct takt_newcomer *newcomer, u32 class_id)
{
	u64 identity = newcomer->identity;
	struct takt_flow *flow;
	u32 id;

	if (!takt_address_is(&newcomer->to))
		return class_id;
	id = takt_station_entity(&port->link, &newcomer->to, class_id);
	flow = takt_flow(&port->link.flows, id);
	if (id && takt_station_is_settled(&port->link, flow) &&
	    !takt_kind_changes(flow, newcomer->key.proto))
		return id;
	newcomer->class_id = class_id;
	id = takt_station_newcomer(&port->link, plan, newcomer, id, bpf_ktime_get_ns());
	newcomer->identity = identity;
	return id;
}

/*
 * Set in the key whether the packet is registered. Returns whether that has changed since the
 * queued packets arrived.
 */
__noinline u32 takt_link_ask_registration(struct takt_port *port TAKT_ARG,
					  const struct takt_plan *plan TAKT_ARG,
					  struct takt_newcomer *newcomer TAKT_ARG, u32 uid)
{
	struct takt_registration *found = &port->registration;

	/* A program that is in the background by rule needs no registration. */
	if (newcomer->key.who & plan->registered)
		return 0;
	takt_link_registered(port->link.netns_cookie, &newcomer->key, uid, found);
	if (found->on)
		newcomer->key.who |= plan->registered;
	takt_link_observe(&port->link, plan, found->changed_ns);
	newcomer->generation = port->link.generation;
	return takt_link_unsettled(&port->link, found->changed_ns);
}

/* Not inlined: its part of the stack is free again when the packet's flow is looked for. */
static __noinline const struct takt_socket *takt_link_sender_of(const struct sock *sk,
								const struct takt_key *key)
{
	return sk ? owner_of(sk) : owner_elsewhere(key);
}

/* What the present plan or, if it knows none, the previous one knows stations by. */
static __always_inline u32 stations_by(const struct takt_port *port, const struct takt_plan *plan)
{
	if (!plan->stations && port->link.old_plan_packets)
		return plan_before(port)->stations;
	return plan->stations;
}

/*
 * The class or flow of a packet by its headers and its sender; the newcomer gets its station's
 * address. arrival.before: its entity by the previous configuration, if packets from then are
 * queued. Precondition: the newcomer has the link's generation, and its socket's identity or 0.
 */
__noinline u32 takt_link_by_headers(const struct sk_buff *skb __arg_trusted,
				    struct takt_port *port TAKT_ARG,
				    const struct takt_plan *plan TAKT_ARG)
{
	u32 *before = &port->arrival.before;
	u32 by = stations_by(port, plan), moved = 0, asks, uid, id;
	struct takt_newcomer *newcomer = &port->newcomer;
	const struct takt_socket *sender = NULL;
	const struct sock *sk;

	__builtin_memset(&newcomer->key, 0, sizeof(newcomer->key));
	/* A packet from another namespace may still have the socket that sent it there. */
	sk = plan->incoming ? NULL : bpf_core_cast(skb, struct sk_buff)->sk;
	asks = plan->rules.need_who | port->link.old_plan_packets;
	/* The previous plan may need more fields than this one. */
	takt_link_read_key(skb, &newcomer->key,
			   plan->rules.need_addresses | plan->flows | plan->registered |
				   (by & TAKT_STATIONS_IP) | port->link.old_plan_packets |
				   (asks && !sk));
	if (plan->rules.sets_dscp)
		newcomer->key.dscp = came_with(skb, newcomer->key.dscp);
	if (asks)
		sender = takt_link_sender_of(sk, &newcomer->key);
	uid = user_of(sender);
	newcomer->key.who = who_is(sender, plan);
	note_inside(skb, plan, newcomer);
	if (plan->registered)
		moved = takt_link_ask_registration(port, plan, newcomer, uid);
	if (by)
		read_station(skb, by, newcomer);
	id = plan->flows ? takt_link_flow(port, plan, newcomer) :
			   takt_classify(&plan->rules, &newcomer->key);
	if (moved) {
		*before = takt_link_entity_unlike(port, plan, &newcomer->key, newcomer->identity,
						  id);
	} else if (port->link.old_plan_packets) {
		newcomer->key.who = who_is(sender, plan_before(port));
		*before = takt_link_entity_before(port, &newcomer->key, newcomer->identity, uid);
	}
	return id;
}

/*
 * The entity of an outgoing packet: by its connection if that is cached, else by its headers.
 * arrival.before as above. Precondition: it is 0.
 */
static __always_inline u32 entity_of(const struct sk_buff *skb, struct takt_port *port,
				     const struct takt_plan *plan)
{
	struct takt_newcomer *newcomer = &port->newcomer;
	u32 connected, before, id;

	newcomer->identity = plan->incoming ? 0 : connection_of(skb, port);
	newcomer->cookie = newcomer->identity ? cookie_of(skb) : 0;
	takt_link_observe(&port->link, plan, 0);
	newcomer->generation = port->link.generation;
	newcomer->class_id = 0;
	connected = newcomer->identity && plan->sticky;
	if (connected) {
		id = takt_connection_find(&port->link.connections, &port->link.flows,
					  newcomer->identity, newcomer->generation);
		if (id)
			return id;
	}
	id = takt_link_by_headers(skb, port, plan);
	if (plan->stations)
		id = station_of(port, plan, newcomer, id);
	/*
	 * A packet that must not overtake needs `before`, and so do the later ones until then: do
	 * not cache.
	 */
	before = port->arrival.before;
	if (connected && (!before || before == id))
		takt_connection_note(&port->link.connections, newcomer->identity,
				     newcomer->generation, id);
	return id;
}

#endif
