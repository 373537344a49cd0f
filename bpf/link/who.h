/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The sender or receiver of a packet: what bpf/owner found out about its socket. */
#ifndef TAKT_WHO_H
#define TAKT_WHO_H

#include "kernel.h"
#include "plan.h"
#include "registered.h"
#include "routed.h"

/* The socket's owner; NULL if it is unknown. */
static __always_inline const struct takt_socket *owner_of(const struct sock *sk)
{
	u64 cookie;

	if (!sk)
		return NULL;
	sk = bpf_core_cast(sk, struct sock);
	/* The first answer to a new connection is sent before it has a socket of its own. */
	if (sk->__sk_common.skc_state == TCP_NEW_SYN_RECV)
		sk = bpf_core_cast(sk->__sk_common.skc_listener, struct sock);
	cookie = sk->__sk_common.skc_cookie.counter;
	return bpf_map_lookup_elem(&takt_link_sockets, &cookie);
}

/* The answers about an owner; all no if it is unknown. */
static __always_inline u32 who_is(const struct takt_socket *owner, const struct takt_plan *plan)
{
	return owner ? owner->who[plan->who_slot & (TAKT_SLOTS - 1)] : 0;
}

/* The user whose registrations apply, beside those for everyone. */
static __always_inline u32 user_of(const struct takt_socket *owner)
{
	return owner && owner->tgid ? owner->uid : TAKT_EVERYONE;
}

#endif
