/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Who sent a packet: what bpf/flows found out about its socket. */
#ifndef TAKT_WHO_H
#define TAKT_WHO_H

#include "kernel.h"
#include "plan.h"
#include "sockets_map.h"

/* The answers about the packet's sender; all no if it is unknown. */
static __always_inline u32 who_sent(const struct sk_buff *skb, const struct takt_plan *plan)
{
	const struct takt_socket *known;
	const struct sock *sk = skb->sk;
	u64 cookie;

	if (!plan->rules.need_who || !sk)
		return 0;
	sk = bpf_core_cast(sk, struct sock);
	/* The first answer to a caller is sent before there is a socket of its own. */
	if (sk->__sk_common.skc_state == TCP_NEW_SYN_RECV)
		sk = bpf_core_cast(sk->__sk_common.skc_listener, struct sock);
	cookie = sk->__sk_common.skc_cookie.counter;
	known = bpf_map_lookup_elem(&takt_sockets, &cookie);
	return known ? known->who[plan->who_slot & (TAKT_SLOTS - 1)] : 0;
}

#endif
