// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Marks packets with congestion experienced (CE) before they reach the qdisc, which cannot write to
 * them: those of flows of which the qdisc has noted that a mark is due, see algo/ecn.h.
 *
 * One instance of this program is attached to the egress of each device whose policy asks for it.
 */
#include "kernel.h"
#include "types_only.h"
#include "../link/marks_map.h"
#include "../link/packet.h"
#include "../link/ports_map.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* The link of the device that this instance is attached to. */
const volatile u32 takt_link_index;

#define GO_ON (-1)	/* TCX_NEXT: continue with the next program on this egress */

void *bpf_cast_to_kern_ctx(void *ctx) __ksym;

SEC("tcx/egress")
int takt_mark(struct __sk_buff *ctx)
{
	const struct takt_port *port = find_port(takt_link_index);
	const struct sk_buff *skb = bpf_cast_to_kern_ctx(ctx);
	struct takt_key key = {};
	u32 *due, ecn;
	u64 flow;

	if (!port || !port->marks)
		return GO_ON;
	ecn = read_ecn(skb);
	if (ecn == TAKT_ECN_NOT || ecn == TAKT_ECN_CE)
		return GO_ON;
	read_key(skb, &key, 1);
	flow = takt_flow_identity(&key, port->link.secret);
	due = bpf_map_lookup_elem(&takt_link_marks, &flow);
	if (!due || !*due)
		return GO_ON;
	if (bpf_skb_ecn_set_ce(ctx))
		__sync_fetch_and_sub(due, 1);
	return GO_ON;
}
