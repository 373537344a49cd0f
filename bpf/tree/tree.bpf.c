// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Classifies packets for a tree of HTB classes, with the rules that the qdisc `takt` reads. It is
 * the tree's only filter.
 */
#include "class_of.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* The minor number of the class with the id 0; those of the others follow. */
const volatile u32 takt_tree_first_minor;

SEC("tc")
int takt_tree(struct __sk_buff *ctx)
{
	ctx->tc_classid = takt_tree_first_minor + class_of_marked(ctx);
	return TC_ACT_OK;
}
