// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The receive side: incoming background packets are sent through a device of kind ifb, where the
 * qdisc `takt` gates and orders them like outgoing ones, and from which they return to where they
 * were. All other packets continue directly.
 *
 * One instance of this program is attached to the ingress of each device whose policy receives,
 * and reads the same plan as the qdisc. Packets that return do not pass it again: the kernel runs
 * no ingress program on packets that have been through an ifb.
 */
#include "kernel.h"
#include "classify.h"
#include "types_only.h"
#include "../link/handover.h"
#include "../link/packet.h"
#include "../link/ports_map.h"
#include "../link/registration.h"
#include "../link/who.h"
#include "gate.h"
#include "lookup.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* The link of the device that this instance is attached to. */
const volatile u32 takt_link_index;

#define GO_ON (-1)	/* TCX_NEXT: continue with the next program on this ingress */

void *bpf_cast_to_kern_ctx(void *ctx) __ksym;

/* Is the device up? It stays in memory while its qdisc is attached and this program runs. */
static __always_inline int is_up(const struct takt_port *port)
{
	const struct net_device *dev;

	if (!port->attached)
		return 0;
	dev = bpf_rdonly_cast((const void *)port->device,
			      bpf_core_type_id_kernel(struct net_device));
	return dev->state & 1 << LINK_STATE_START;
}

/* The class of an incoming packet: that of its answers. */
__noinline u32 takt_receive_class_of(const struct takt_plan *plan TAKT_ARG,
				     const struct takt_key *key TAKT_ARG)
{
	return takt_classify(&plan->rules, key);
}

SEC("tcx/ingress")
int takt_receive(struct __sk_buff *ctx)
{
	const struct takt_port *port = find_port(takt_link_index), *through;
	const struct sk_buff *skb = bpf_cast_to_kern_ctx(ctx);
	const struct takt_socket *receiver = NULL;
	const struct takt_plan *plan;
	struct takt_registration registered;
	struct takt_key key = {};
	u32 id, with_owner;

	if (!port || !port->attached)
		return GO_ON;
	plan = plan_of(port);
	if (!plan->receive_ifindex)
		return GO_ON;
	with_owner = plan->rules.need_who;
	read_key(skb, &key, plan->rules.need_addresses | with_owner);
	takt_key_reverse(&key);
	if (with_owner) {
		receiver = receiver_of(ctx, &key);
		key.who = who_is(receiver, plan);
		if (plan->registered && !(key.who & plan->registered)) {
			takt_link_registered(port->link.netns_cookie, &key, user_of(receiver),
					     &registered);
			key.who |= registered.on ? plan->registered : 0;
		}
	}
	id = takt_receive_class_of(plan, &key) & (TAKT_CLASSES - 1);
	if (!plan->class_params[id].receive)
		return GO_ON;
	through = find_port(plan->receive_link);
	if (!through || !is_up(through))
		return GO_ON;
	if (!with_owner) {
		if (!plan->rules.need_addresses) {
			read_key(skb, &key, 1);
			takt_key_reverse(&key);
		}
		receiver = receiver_of(ctx, &key);
	}
	ctx->cb[0] = TAKT_HANDOVER_MARK;
	ctx->cb[1] = id;
	ctx->cb[2] = receiver && receiver->tgid ? receiver->task_prio : TAKT_TASK_UNKNOWN;
	return bpf_redirect(plan->receive_ifindex, 0);
}
