/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Who owns a connection: what bpf/owner found out about its socket. */
#ifndef TAKT_FLOW_OWNER_OF_H
#define TAKT_FLOW_OWNER_OF_H

#include "tcp_socket.h"

#include "labels_map.h"
#include "sockets_map.h"

/* Whether the rules ask; if not, the maps are not there. */
const volatile u32 takt_flow_asked;
const volatile u32 takt_flow_slot;

/* The answers; all no if it is unknown. One that was not accepted yet has its listener's. */
static __always_inline u32 owner_of(void *sk, u64 cookie)
{
	u32 slot = takt_flow_slot & (TAKT_SLOTS - 1);
	const struct takt_socket *owner = bpf_map_lookup_elem(&takt_link_sockets, &cookie);
	const struct label *label;

	if (owner)
		return owner->who[slot];
	label = bpf_sk_storage_get(&takt_owner_labels, sk, NULL, 0);
	return label ? label->answer.who[slot] : 0;
}

#endif
