/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Who sends a tc program's packet: what bpf/owner found out about its socket. */
#ifndef TAKT_SENDER_H
#define TAKT_SENDER_H

#include "plain.h"

#include "labels_map.h"
#include "routed.h"

/* Whether the rules ask; if not, the maps are not there. */
const volatile u32 takt_sender_asked;
const volatile u32 takt_sender_slot;

/* Whether the key must have the packet's addresses. */
static __always_inline u32 addresses_needed(struct __sk_buff *ctx, const struct takt_rules *rules)
{
	return rules->need_addresses | (takt_sender_asked && !ctx->sk);
}

/*
 * The answers about the sender; all no if it is unknown. Precondition: the key has the packet's
 * addresses, if it has no socket.
 */
static __always_inline u32 takt_sender_is(struct __sk_buff *ctx, const struct takt_key *key)
{
	u32 slot = takt_sender_slot & (TAKT_SLOTS - 1);
	const struct takt_socket *owner;
	const struct label *label;
	struct bpf_sock *sk = ctx->sk, *listener;
	u64 cookie;

	if (!sk) {
		owner = owner_elsewhere(key);
		return owner ? owner->who[slot] : 0;
	}
	cookie = bpf_get_socket_cookie(ctx);
	owner = bpf_map_lookup_elem(&takt_link_sockets, &cookie);
	if (owner)
		return owner->who[slot];
	/* The first answer to a new connection is sent before it has a socket of its own. */
	listener = bpf_get_listener_sock(sk);
	if (!listener)
		return 0;
	label = bpf_sk_storage_get(&takt_owner_labels, listener, NULL, 0);
	return label ? label->answer.who[slot] : 0;
}

#endif
