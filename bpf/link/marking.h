/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Notes that a flow's next packet is to be marked, see algo/ecn.h. */
#ifndef TAKT_MARKING_H
#define TAKT_MARKING_H

#include "link_key.h"
#include "marks_map.h"

/* This packet is sent, and a mark is due. Its headers go through the port: the stack is small. */
static __always_inline void note_mark(const struct sk_buff *skb, struct takt_port *port)
{
	struct takt_key *key = &port->newcomer.key;
	u32 one = 1, *due;
	u64 flow;

	__builtin_memset(key, 0, sizeof(*key));
	takt_link_read_key(skb, key, 1);
	flow = takt_flow_identity(key, port->link.secret);
	due = bpf_map_lookup_elem(&takt_link_marks, &flow);
	if (!due)
		bpf_map_update_elem(&takt_link_marks, &flow, &one, BPF_ANY);
	else if (*due < TAKT_MARKS_DUE_MAX)
		__sync_fetch_and_add(due, 1);
	port->marks = 1;
}

#endif
