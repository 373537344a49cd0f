/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Is a packet's destination registered at run time, for its sender? */
#ifndef TAKT_REGISTRATION_H
#define TAKT_REGISTRATION_H

#include "link_maps.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, TAKT_REGISTRATIONS);
	__type(key, struct takt_destination);
	__type(value, struct takt_registration);
} takt_link_dests SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct takt_registry);
} takt_link_registry SEC(".maps");

static __always_inline void add_registration(struct takt_registration *sum,
					     const struct takt_destination *destination)
{
	const struct takt_registration *found =
		bpf_map_lookup_elem(&takt_link_dests, destination);

	if (!found)
		return;
	sum->on |= found->on;
	sum->changed_ns = takt_max(sum->changed_ns, found->changed_ns);
}

/*
 * What is registered in a namespace for packets with these headers, for this user's sockets and
 * for everyone's.
 */
__noinline int takt_link_registered(u64 netns_cookie, const struct takt_key *key TAKT_ARG, u32 uid,
				    struct takt_registration *sum TAKT_ARG)
{
	struct takt_destination destination;
	const struct takt_registry *registry;
	u32 zero = 0;

	sum->changed_ns = 0;
	sum->on = 0;
	registry = bpf_map_lookup_elem(&takt_link_registry, &zero);
	if (!registry || !registry->entries || !key->has_ports)
		return 0;
	destination.netns_cookie = netns_cookie;
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

#endif
