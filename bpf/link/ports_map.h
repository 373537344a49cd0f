/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Every link's state and plans, by its number. The qdisc's object makes the map. */
#ifndef TAKT_PORTS_MAP_H
#define TAKT_PORTS_MAP_H

#include "kernel.h"
#include "link_maps.h"

/*
 * Type of the map that user space makes for each link. The variable only brings the types into
 * the object; the map is never created from it.
 */
struct port_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct takt_port);
} port_shape SEC(".maps");

#define PER_LINK(name, inner)                           \
	struct {                                        \
		__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS); \
		__uint(max_entries, TAKT_LINKS);        \
		__type(key, u32);                       \
		__array(values, struct inner);          \
	} name SEC(".maps")

PER_LINK(takt_link_ports, port_map);

static __always_inline struct takt_port *find_port(u32 index)
{
	void *inner = bpf_map_lookup_elem(&takt_link_ports, &index);
	u32 zero = 0;

	return inner ? bpf_map_lookup_elem(inner, &zero) : NULL;
}

static __always_inline const struct takt_plan *plan_of(const struct takt_port *port)
{
	return &port->plans[port->active & 1];
}

/* The previous plan, or the next while it is being written. */
static __always_inline const struct takt_plan *plan_before(const struct takt_port *port)
{
	return &port->plans[(port->active & 1) ^ 1];
}

#endif
