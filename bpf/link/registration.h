/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Was a packet's destination registered at run time, for its sender? */
#ifndef TAKT_REGISTRATION_H
#define TAKT_REGISTRATION_H

#include "link_maps.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, TAKT_REGISTRATIONS);
	__type(key, struct takt_destination);
	__type(value, struct takt_registration);
} takt_registrations SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct takt_registry);
} takt_registry SEC(".maps");

static __always_inline void add_registration(struct takt_registration *sum,
					     const struct takt_destination *destination)
{
	const struct takt_registration *found =
		bpf_map_lookup_elem(&takt_registrations, destination);

	if (!found)
		return;
	sum->on |= found->on;
	sum->changed_ns = takt_max(sum->changed_ns, found->changed_ns);
}

/*
 * port->registration becomes what is registered for packets with these headers
 * from a socket of this user's, and for everyone's.
 */
__noinline int find_registration(struct takt_port *port TAKT_ARG,
				 const struct takt_key *key TAKT_ARG, u32 uid)
{
	struct takt_registration *sum = &port->registration;
	struct takt_destination destination;
	const struct takt_registry *registry;
	u32 zero = 0;

	sum->changed_ns = 0;
	sum->on = 0;
	registry = bpf_map_lookup_elem(&takt_registry, &zero);
	if (!registry || !registry->entries || !key->has_ports)
		return 0;
	destination.netns_cookie = port->link.netns_cookie;
	destination.uid = TAKT_EVERYONE;
	destination.port = key->dst_port;
	destination.family = key->family;
	destination.pad = 0;
	__builtin_memcpy(destination.address, key->dst, sizeof(destination.address));
	add_registration(sum, &destination);
	if (uid != TAKT_EVERYONE) {
		destination.uid = uid;
		add_registration(sum, &destination);
	}
	return 0;
}

/*
 * Have the key say whether the packet is registered. Returns whether that has
 * changed since packets were queued that are still there.
 */
__noinline u32 ask_registration(struct takt_port *port TAKT_ARG,
				const struct takt_plan *plan TAKT_ARG,
				struct takt_newcomer *newcomer TAKT_ARG, u32 uid)
{
	const struct takt_registration *found = &port->registration;

	/* Whoever is background as a program is so whatever is registered. */
	if (newcomer->key.who & plan->registered)
		return 0;
	find_registration(port, &newcomer->key, uid);
	if (found->on)
		newcomer->key.who |= plan->registered;
	takt_link_meet(&port->link, plan, found->changed_ns);
	newcomer->era = port->link.era;
	return takt_link_unsettled(&port->link, found->changed_ns);
}

#endif
