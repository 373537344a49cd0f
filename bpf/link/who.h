/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Who sent a packet: what bpf/flows found out about its socket. */
#ifndef TAKT_WHO_H
#define TAKT_WHO_H

#include "kernel.h"
#include "plan.h"
#include "sockets_map.h"

/* The owner of the packet's socket; NULL if it is unknown. */
static __always_inline const struct takt_socket *sender_of(const struct sk_buff *skb)
{
	const struct sock *sk = skb->sk;
	u64 cookie;

	if (!sk)
		return NULL;
	sk = bpf_core_cast(sk, struct sock);
	/* The first answer to a caller is sent before there is a socket of its own. */
	if (sk->__sk_common.skc_state == TCP_NEW_SYN_RECV)
		sk = bpf_core_cast(sk->__sk_common.skc_listener, struct sock);
	cookie = sk->__sk_common.skc_cookie.counter;
	return bpf_map_lookup_elem(&takt_sockets, &cookie);
}

/* The answers about a sender; all no if it is unknown. */
static __always_inline u32 who_is(const struct takt_socket *sender, const struct takt_plan *plan)
{
	return sender ? sender->who[plan->who_slot & (TAKT_SLOTS - 1)] : 0;
}

#endif
