/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Frames that the helper sends for the link itself: templates of gap frames (algo/gap.h), and the
 * bell (link_maps.h). They are no traffic and are not counted.
 */
#ifndef TAKT_TEMPLATES_H
#define TAKT_TEMPLATES_H

#include "running.h"
#include "store.h"

/* Is the packet such a frame? */
static __always_inline u32 is_template(const struct sk_buff *skb, const struct takt_port *port)
{
	return skb->protocol == __builtin_bswap16(TAKT_GAP_ETHERTYPE) && port->gap.secret &&
	       skb->mark == port->gap.secret;
}

/* The frame's slot in the store; 0: refuse it. Precondition: is_template(). */
static __always_inline u32 template_slot(const struct sk_buff *skb, struct takt_port *port,
					 const struct takt_plan *plan)
{
	u32 slot;

	if (skb->len != TAKT_BELL_BYTES) {
		slot = takt_gap_store(&port->gap, plan, skb->len);
	} else {
		slot = runs_alone() ? TAKT_STORE_BELL - TAKT_PACKETS : 0;
		port->bell = slot != 0;
		port->opener = bpf_get_current_task_btf()->pid;
	}
	return slot ? TAKT_PACKETS + slot : 0;
}

/* Ring the bell, if there is one: the helper notices that it is freed. */
static __always_inline void ring(u32 index, struct takt_port *port)
{
	port->bell = 0;
	discard(index, TAKT_STORE_BELL);
}

#endif
