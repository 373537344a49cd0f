// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Classifies packets for a tree of HTB classes, with the rules that the qdisc `takt` reads. It is
 * the tree's only filter.
 *
 * One instance for each link and policy.
 */
#include "direct.h"
#include "sender.h"

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

SEC("tc")
int takt_tree(struct __sk_buff *ctx)
{
	const struct takt_rules *rules;
	struct takt_key key = {};
	u32 zero = 0;

	rules = bpf_map_lookup_elem(&takt_tree_rules, &zero);
	if (!rules)
		return TC_ACT_OK;
	read_key_in_place(ctx, &key, takt_tree_skipped_bytes, addresses_needed(ctx, rules));
	if (takt_sender_asked)
		key.who = takt_sender_is(ctx, &key);
	ctx->tc_classid = takt_tree_first_minor + takt_classify(rules, &key);
	return TC_ACT_OK;
}
