// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The receiver of an incoming packet behind NAT, for links where hosts share. A download is queued
 * before the host's firewall has looked at it, when all of its packets are still addressed to the
 * gateway. This program, on the egress of the device that downloads wait in, asks connection
 * tracking for a packet's receiver, and passes a number of its address to the device's qdisc.
 *
 * TCP and UDP only: the kernel looks up no others for programs. Fragments have no ports, so they
 * are not looked up either; nor are packets that connection tracking has in another zone.
 */
#include "conntrack.h"
#include "headers.h"
#include "host.h"
#include "types_only.h"
#include "../link/handover.h"
#include "../link/packet.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Hides from outside which hosts share a number. */
const volatile u64 takt_secret;

#define GO_ON (-1)	/* TC_ACT_UNSPEC: continue with the next program, or with the qdisc */
#define BPF_F_CURRENT_NETNS (-1)
#define IPPROTO_UDP 17
#define IP_CT_DIR_ORIGINAL 0

/* Passed to the kernel unchanged. */
struct bpf_ct_opts {
	s32 netns_id;
	s32 error;
	u8 l4proto;
	u8 dir;
	u8 reserved[2];
};

void *bpf_cast_to_kern_ctx(void *ctx) __ksym;
struct nf_conn *bpf_skb_ct_lookup(struct __sk_buff *ctx, struct bpf_sock_tuple *tuple,
				  u32 tuple_bytes, struct bpf_ct_opts *opts,
				  u32 opts_bytes) __ksym;
void bpf_ct_release(struct nf_conn *connection) __ksym;

/* The tuple of a packet, and its length; 0: it has none that is looked up. */
static __always_inline u32 read_tuple(const struct takt_key *key, struct bpf_sock_tuple *tuple)
{
	u32 i;

	if (!key->has_ports || (key->proto != IPPROTO_TCP && key->proto != IPPROTO_UDP))
		return 0;
	if (key->family == TAKT_FAMILY_IPV4) {
		tuple->ipv4.saddr = key->src[0];
		tuple->ipv4.daddr = key->dst[0];
		tuple->ipv4.sport = __builtin_bswap16(key->src_port);
		tuple->ipv4.dport = __builtin_bswap16(key->dst_port);
		return sizeof(tuple->ipv4);
	}
	for (i = 0; i < 4; i++) {
		tuple->ipv6.saddr[i] = key->src[i];
		tuple->ipv6.daddr[i] = key->dst[i];
	}
	tuple->ipv6.sport = __builtin_bswap16(key->src_port);
	tuple->ipv6.dport = __builtin_bswap16(key->dst_port);
	return sizeof(tuple->ipv6);
}

SEC("tc")
int takt_inside(struct __sk_buff *ctx)
{
	const struct sk_buff *skb = bpf_cast_to_kern_ctx(ctx);
	struct bpf_ct_opts opts = { .netns_id = BPF_F_CURRENT_NETNS };
	struct bpf_sock_tuple tuple = {};
	struct nf_conn *connection;
	struct takt_key key = {};
	u32 address[4], bytes, i;
	u64 host;

	ctx->cb[0] = 0;
	read_key(skb, &key, 1);
	bytes = read_tuple(&key, &tuple);
	if (!bytes)
		return GO_ON;
	opts.l4proto = key.proto;
	connection = bpf_skb_ct_lookup(ctx, &tuple, bytes, &opts, sizeof(opts));
	if (!connection)
		return GO_ON;
	/* Answers come to where the packets of the other direction come from. */
	for (i = 0; i < 4; i++)
		address[i] = opts.dir == IP_CT_DIR_ORIGINAL ?
				     connection->tuplehash[1].tuple.src.u3.all[i] :
				     connection->tuplehash[0].tuple.src.u3.all[i];
	bpf_ct_release(connection);
	host = takt_host_identity(address, takt_secret);
	ctx->cb[0] = TAKT_INSIDE_MARK;
	ctx->cb[1] = host;
	ctx->cb[2] = host >> 32;
	return GO_ON;
}
