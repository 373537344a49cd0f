/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The sender of a packet that leaves, or the receiver of one that comes in, behind NAT: where hosts
 * share a link.
 *
 * A packet that leaves by NAT has another source than its sender has, but the kernel keeps its
 * connection with it. For one that comes in, bpf/inside looks that up, and passes the receiver's
 * number in the packet's control block. Where neither knows, the packet's own addresses count.
 */
#ifndef TAKT_INSIDE_H
#define TAKT_INSIDE_H

#include "conntrack.h"
#include "handover.h"
#include "host.h"
#include "link_maps.h"

/* The bits of skb->_nfct that are no address: how the packet relates to its connection. */
#define NFCT_INFOMASK 7
/* Of these: a packet of the reply direction, from here on. */
#define IP_CT_IS_REPLY 3

/* Note what is known of an arriving packet, before it has a flow. */
static __always_inline void note_inside(const struct sk_buff *skb, const struct takt_plan *plan,
					struct takt_newcomer *newcomer)
{
	const struct takt_inside *inside =
		(const void *)((const struct qdisc_skb_cb *)skb->cb)->data;

	if (plan->hosts == TAKT_HOSTS_NONE)
		return;
	newcomer->conntrack = skb->_nfct;
	newcomer->inside = inside->mark == TAKT_INSIDE_MARK ?
				   (u64)inside->host[1] << 32 | inside->host[0] : 0;
}

/*
 * The address that the sender of this packet's direction has. Returns whether it is known. Read as
 * an address of the kernel's, not as a connection: nf_conn may be a type of a module, for which
 * there is no cast, and a kernel that is locked down does not have the helper that copies.
 */
static __always_inline int sender_by_conntrack(u64 conntrack, u32 *address)
{
	u64 at = conntrack & ~(u64)NFCT_INFOMASK;
	const struct in6_addr *source;
	u32 i;

	if (!at || !bpf_core_type_exists(struct nf_conn))
		return 0;
	if ((conntrack & NFCT_INFOMASK) >= IP_CT_IS_REPLY)
		at += bpf_core_field_offset(struct nf_conn, tuplehash[1].tuple.src.u3);
	else
		at += bpf_core_field_offset(struct nf_conn, tuplehash[0].tuple.src.u3);
	source = bpf_core_cast((const void *)at, struct in6_addr);
	for (i = 0; i < 4; i++)
		address[i] = source->in6_u.u6_addr32[i];
	return 1;
}

/* Set the newcomer's host. Precondition: note_inside, and its key has addresses. */
__noinline int takt_link_find_host(const struct takt_port *port TAKT_ARG,
				   const struct takt_plan *plan TAKT_ARG,
				   struct takt_newcomer *newcomer TAKT_ARG)
{
	u64 secret = port->link.secret;
	u32 address[4] = {};

	if (plan->hosts == TAKT_HOSTS_SOURCES && sender_by_conntrack(newcomer->conntrack, address))
		newcomer->host = takt_host_identity(address, secret);
	else if (plan->hosts == TAKT_HOSTS_DESTINATIONS && newcomer->inside)
		newcomer->host = newcomer->inside;
	else
		newcomer->host = takt_host_of(plan, &newcomer->key, secret);
	return 0;
}

#endif
