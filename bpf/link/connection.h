/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The connection of a packet, by its socket. */
#ifndef TAKT_CONNECTION_H
#define TAKT_CONNECTION_H

#include "kernel.h"
#include "link_maps.h"

/* If a socket connects again, or its memory is reused by another, its identity is another. */
static __always_inline u64 identity_of(const struct sock *sk, struct takt_port *port)
{
	volatile u64 *number = &port->scratch;

	/* Through memory the pointer becomes a number for the verifier. */
	*number = (u64)sk;
	return (*number ^ (u64)sk->__sk_common.skc_hash << 32) * 0x9e3779b97f4a7c15ULL +
	       ((u64)sk->__sk_common.skc_daddr << 16 | sk->__sk_common.skc_dport);
}

/*
 * All packets of a connected socket are one connection. 0: no connected socket sent the packet, and
 * its headers tell which flow it belongs to. Packets of a handshake or of a closing connection have
 * no full socket, so headers tell them apart, too.
 */
static __always_inline u64 connection_of(const struct sk_buff *skb, struct takt_port *port)
{
	const u64 incomplete = 1U << TCP_NEW_SYN_RECV | 1U << TCP_TIME_WAIT | 1U << TCP_LISTEN;
	const struct sock *sk = skb->sk;

	if (!sk || !sk->__sk_common.skc_dport ||
	    incomplete >> (sk->__sk_common.skc_state & 63) & 1)
		return 0;
	return identity_of(sk, port);
}

/* What names the packet's socket for good; 0: it has none. */
static __always_inline u64 cookie_of(const struct sk_buff *skb)
{
	const struct sock *sk = skb->sk;

	return sk ? sk->__sk_common.skc_cookie.counter : 0;
}

#endif
