/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The class of a tc program's packet, by the rules of its link: one instance for each policy. */
#ifndef TAKT_CLASS_OF_H
#define TAKT_CLASS_OF_H

#include "direct.h"
#include "ports.h"
#include "sender.h"
#include "set_dscp.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct takt_rules);
} takt_class_rules SEC(".maps");

/* The device's headers before the network's; VLAN tags that are in the packet not included. */
const volatile u32 takt_skipped_bytes;

/* The port that tells the classes apart (TAKT_PORT_*), and the classes by it. */
const volatile u32 takt_port_decides;
u16 takt_port_class[TAKT_PORT_PLACES];

/* Whether some class gives its packets a DSCP. */
const volatile u32 takt_class_sets_dscp;

/* Out of line: its many values would take the registers of the way through the table. */
static __noinline u32 takt_class_search(struct __sk_buff *ctx)
{
	const struct takt_rules *rules;
	struct takt_key key = {};
	u32 zero = 0;

	rules = bpf_map_lookup_elem(&takt_class_rules, &zero);
	if (!rules)
		return 0;
	read_key_in_place(ctx, &key, takt_skipped_bytes, addresses_needed(ctx, rules));
	if (takt_sender_asked)
		key.who = takt_sender_is(ctx, &key);
	return takt_classify(rules, &key);
}

static __always_inline u32 class_of(struct __sk_buff *ctx)
{
	u32 which = takt_port_decides, place;

	if (which) {
		place = takt_port_read(__builtin_bswap16(ctx->protocol),
				       (u64)ctx->data + takt_skipped_bytes, (u64)ctx->data_end,
				       which);
		/* The verifier does not know that swapped bytes are 16 bits; the compiler does. */
		barrier_var(place);
		if (place < TAKT_PORT_PLACES)
			return takt_port_class[place];
	}
	return takt_class_search(ctx);
}

/* Give a packet of this class the DSCP that the rules say. */
static __noinline int takt_class_set_dscp(struct __sk_buff *ctx, u32 id)
{
	const struct takt_rules *rules;
	u32 zero = 0, dscp, found;

	rules = bpf_map_lookup_elem(&takt_class_rules, &zero);
	dscp = rules ? rules->dscp[id & (TAKT_CLASSES - 1)] : 0;
	if (!dscp)
		return 0;
	found = takt_ip_at(__builtin_bswap16(ctx->protocol), (u64)ctx->data + takt_skipped_bytes,
			   (u64)ctx->data_end);
	return takt_set_dscp(ctx, found >> 16,
			takt_skipped_bytes + (found & (TAKT_SHIMS_BYTES - 1)), dscp - 1);
}

/* As above, after the packet's DSCP has told its class. */
static __always_inline u32 class_of_marked(struct __sk_buff *ctx)
{
	u32 id = class_of(ctx);

	if (takt_class_sets_dscp)
		takt_class_set_dscp(ctx, id);
	return id;
}

#endif
