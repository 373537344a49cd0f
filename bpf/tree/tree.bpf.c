// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Classifies packets for a tree of HTB classes, with the rules that the qdisc `takt` reads. It is
 * the tree's only filter.
 *
 * One instance for each link and policy. HTB calls it with its lock held, so the headers of a
 * packet lie in memory that all calls share.
 */
#include "plain.h"
#include "rows.h"
#include "headers.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct takt_rules);
} takt_tree_rules SEC(".maps");

/* The minor number of the class with the id 0; those of the others follow. */
const volatile u32 takt_tree_first_minor;

/* The device's headers before the network's; VLAN tags that are in the packet not included. */
const volatile u32 takt_tree_skipped_bytes;

/* Load what there is of the headers; returns how much that is, in bytes. */
static __always_inline u32 load_headers(struct __sk_buff *ctx)
{
	u32 bytes = ctx->len - takt_tree_skipped_bytes;

	if (ctx->len < takt_tree_skipped_bytes)
		return 0;
	if (bytes > TAKT_ROWS_BYTES)
		bytes = TAKT_ROWS_BYTES;
	bytes &= ~3U;
	barrier_var(bytes);
	if (bytes < 4 || bytes > TAKT_ROWS_BYTES)
		return 0;
	return bpf_skb_load_bytes(ctx, takt_tree_skipped_bytes, takt_rows, bytes) ? 0 : bytes;
}

SEC("tc")
int takt_tree(struct __sk_buff *ctx)
{
	u16 ethertype = __builtin_bswap16(ctx->protocol);
	const struct takt_rules *rules;
	struct takt_key key = {};
	u32 zero = 0, end;

	rules = bpf_map_lookup_elem(&takt_tree_rules, &zero);
	if (!rules)
		return TC_ACT_OK;
	end = load_headers(ctx);
	key.mark = ctx->mark;
	if (end)
		takt_key_read(&key, ethertype, 0, end, rules->need_addresses);
	ctx->tc_classid = takt_tree_first_minor + takt_classify(rules, &key);
	return TC_ACT_OK;
}
