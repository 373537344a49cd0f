// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Gives packets the DSCP of their class before they reach the qdisc, which cannot write to them.
 * The qdisc is told the one that they came with: both find the same class.
 *
 * One instance of this program is attached to the egress of each device whose policy asks for it,
 * and reads the same plan as the qdisc.
 */
#include "kernel.h"
#include "classify.h"
#include "types_only.h"
#include "../link/handover.h"
#include "../link/packet.h"
#include "../link/ports_map.h"
#include "../link/registration.h"
#include "../link/who.h"
#include "set_dscp.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* The link of the device that this instance is attached to. */
const volatile u32 takt_link_index;

#define GO_ON (-1)	/* TCX_NEXT: continue with the next program on this egress */

void *bpf_cast_to_kern_ctx(void *ctx) __ksym;

/* The packet's class, as the qdisc finds it. */
__noinline u32 takt_dscp_class_of(const struct takt_plan *plan TAKT_ARG,
				  const struct takt_key *key TAKT_ARG)
{
	return takt_classify(&plan->rules, key);
}

/* Add to the key what is known of the packet's sender. */
static __always_inline void read_who(const struct sk_buff *skb, const struct takt_port *port,
				     const struct takt_plan *plan, struct takt_key *key)
{
	const struct sock *sk = bpf_core_cast(skb, struct sk_buff)->sk;
	const struct takt_socket *sender = sk ? owner_of(sk) : owner_elsewhere(key);
	struct takt_registration registered;

	key->who = who_is(sender, plan);
	if (!plan->registered || key->who & plan->registered)
		return;
	takt_link_registered(port->link.netns_cookie, key, user_of(sender), &registered);
	if (registered.on)
		key->who |= plan->registered;
}

/* Where the packet's header of IP begins: as of takt_ip_at(), the bytes from its data on. */
static __always_inline u32 find_ip(const struct sk_buff *skb)
{
	u64 data = (u64)skb->data, at = (u64)skb->head + skb->network_header;
	u16 ethertype = __builtin_bswap16(skb->protocol);

	if (takt_is_vlan(ethertype))
		at = data + TAKT_ETH_HEADER_BYTES;
	return takt_ip_at(ethertype, at, data + (skb->len - skb->data_len)) +
	       ((at - data) & 0xff);
}

SEC("tcx/egress")
int takt_dscp(struct __sk_buff *ctx)
{
	const struct takt_port *port = find_port(takt_link_index);
	const struct sk_buff *skb = bpf_cast_to_kern_ctx(ctx);
	const struct takt_plan *plan;
	struct takt_key key = {};
	u32 dscp, found;

	if (!port || !port->attached)
		return GO_ON;
	plan = plan_of(port);
	if (!plan->rules.sets_dscp)
		return GO_ON;
	read_key(skb, &key, plan->rules.need_addresses | plan->rules.need_who);
	if (plan->rules.need_who)
		read_who(skb, port, plan, &key);
	ctx->cb[3] = TAKT_CAME_WITH | key.dscp;
	dscp = plan->rules.dscp[takt_dscp_class_of(plan, &key) & (TAKT_CLASSES - 1)];
	if (!dscp)
		return GO_ON;
	found = find_ip(skb);
	takt_set_dscp(ctx, found >> 16, found & 0xffff, dscp - 1);
	return GO_ON;
}
