/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The entity of an arriving packet before the plan or its registration changed: the packet must
 * not overtake the packets that are queued there.
 */
#ifndef TAKT_BEFORE_H
#define TAKT_BEFORE_H

#include "ports_map.h"
#include "registration.h"

/* The entity of the packet by this plan. */
__noinline u32 takt_link_entity(struct takt_port *port TAKT_ARG,
				const struct takt_plan *plan TAKT_ARG,
				const struct takt_key *key TAKT_ARG, u64 identity)
{
	u32 class_id = takt_classify(&plan->rules, key), per_flow, id;

	if (plan->stations && takt_address_is(&port->newcomer.to)) {
		id = takt_station_entity(&port->link, &port->newcomer.to, class_id);
		return id ? id : class_id;
	}
	per_flow = plan->class_params[class_id & (TAKT_CLASSES - 1)].per_flow;
	if (per_flow == TAKT_PER_FLOW_NOTHING)
		return class_id;
	if (!identity)
		identity = takt_flow_identity(key, port->link.secret);
	if (per_flow == TAKT_PER_FLOW_QUEUE)
		identity = takt_flow_in_class(identity, class_id);
	id = takt_flow_find(&port->link.flows, identity);
	return id ? id : class_id;
}

/* The entity of the packet by the previous plan. */
__noinline u32 takt_link_entity_before(struct takt_port *port TAKT_ARG,
				       struct takt_key *key TAKT_ARG, u64 identity, u32 uid)
{
	const struct takt_plan *old = plan_before(port);

	if (old->registered && !(key->who & old->registered)) {
		takt_link_registered(port->link.netns_cookie, key, uid, &port->registration);
		if (port->registration.on)
			key->who |= old->registered;
	}
	return takt_link_entity(port, old, key, identity);
}

/*
 * The packet goes to `id` because its registration has changed. Returns its entity before that.
 * If that goes after the new one, or is another tenant's, it might wait for long, and all packets
 * behind this one with it: then this packet pulls.
 */
__noinline u32 takt_link_entity_unlike(struct takt_port *port TAKT_ARG,
				       const struct takt_plan *plan TAKT_ARG,
				       struct takt_key *key TAKT_ARG, u64 identity, u32 id)
{
	const struct takt_class_params *to, *from;
	u32 before;

	key->who ^= plan->registered;
	before = takt_link_entity(port, plan, key, identity);
	key->who ^= plan->registered;
	to = takt_params(plan, takt_entity(&port->link.order, id), id);
	from = takt_params(plan, takt_entity(&port->link.order, before), before);
	if (from->priority > to->priority || from->node != to->node)
		before |= TAKT_PULLS;
	return before;
}

#endif
