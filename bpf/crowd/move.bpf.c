/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Moves running flows from one congestion control to another: those of the network namespace of
 * the process that reads the iterator.
 */
#include "tcp.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define SOL_TCP 6
#define TCP_CONGESTION 13

/* A congestion control's name, padded with zeros. */
union name {
	char text[16];
	u64 words[2];
};

const volatile union name from;
const volatile union name to;	/* empty: only count them */
const volatile u32 ifindex;	/* only flows that leave by this device; 0: all, and listeners */
u32 found, moved;

SEC("iter/tcp")
int takt_crowd_move(struct bpf_iter__tcp *context)
{
	struct sock_common *common = context->sk_common;
	struct tcp_sock *tp = common ? bpf_skc_to_tcp_sock(common) : 0;
	const struct dst_entry *route;
	union name name = {};

	/* Requests and sockets in TIME_WAIT have no congestion control. */
	if (!tp)
		return 0;
	if (ifindex) {
		route = ((struct sock *)tp)->sk_dst_cache;
		if (!route || (u32)route->dev->ifindex != ifindex)
			return 0;
	}
	if (bpf_getsockopt(tp, SOL_TCP, TCP_CONGESTION, &name, sizeof(name)))
		return 0;
	if (name.words[0] != from.words[0] || name.words[1] != from.words[1])
		return 0;
	found++;
	if (!to.text[0])
		return 0;
	name.words[0] = to.words[0];
	name.words[1] = to.words[1];
	if (!bpf_setsockopt(tp, SOL_TCP, TCP_CONGESTION, &name, sizeof(name)))
		moved++;
	return 0;
}
