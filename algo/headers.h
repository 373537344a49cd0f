/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * From the bytes of a frame to the key that classification asks about.
 *
 * Reads only what lies in the linear part of the packet and only below the
 * given end. Whatever cannot be read (fragments, headers cut short, unknown
 * protocols) leaves the fields at zero and so ends up in the default class.
 *
 * In BPF the bytes are reached through the kernel's own header types (a load
 * that faults yields zero); natively through the same types over a plain
 * buffer. TAKT_VIEW hides that difference and nothing else does.
 */
#ifndef TAKT_HEADERS_H
#define TAKT_HEADERS_H

#include "classify.h"

#ifdef TAKT_BPF
#define TAKT_VIEW(type, at) \
	((const struct type *)bpf_rdonly_cast((void *)(at), bpf_core_type_id_kernel(struct type)))
#else
#define TAKT_VIEW(type, at) ((const struct type *)(at))
#endif

/* Layouts fixed by the standards; named as the kernel names them. */
struct vlan_hdr {
	u16 h_vlan_TCI, h_vlan_encapsulated_proto;
} __attribute__((packed));

struct iphdr {
	u8 version_ihl, tos;
	u16 tot_len, id, frag_off;
	u8 ttl, protocol;
	u16 check;
	u32 saddr, daddr;
} __attribute__((packed));

struct ipv6hdr {
	u8 version_priority, flow_lbl[3];
	u16 payload_len;
	u8 nexthdr, hop_limit;
	u32 saddr[4], daddr[4];
} __attribute__((packed));

struct ipv6_opt_hdr {
	u8 nexthdr, hdrlen;
} __attribute__((packed));

struct udphdr {
	u16 source, dest, len, check;
} __attribute__((packed));

#define TAKT_ETH_P_IP 0x0800
#define TAKT_ETH_P_IPV6 0x86dd
#define TAKT_ETH_P_8021Q 0x8100
#define TAKT_ETH_P_8021AD 0x88a8

#define TAKT_VLAN_TAGS_MAX 2
#define TAKT_EXTENSIONS_MAX 6	/* IPv6 extension headers that are skipped */

TAKT_FN u16 takt_be16(u16 value)
{
	return (u16)(value << 8 | value >> 8);
}

TAKT_FN int takt_is_vlan(u16 ethertype)
{
	return ethertype == TAKT_ETH_P_8021Q || ethertype == TAKT_ETH_P_8021AD;
}

/* TCP, UDP, SCTP, DCCP and UDP-Lite all begin with source and destination port. */
TAKT_FN int takt_has_ports(u8 proto)
{
	return proto == 6 || proto == 17 || proto == 33 || proto == 132 || proto == 136;
}

TAKT_FN void takt_key_ports(struct takt_key *key, u64 at, u64 end)
{
	const struct udphdr *ports;

	if (!takt_has_ports(key->proto) || at + 4 > end)
		return;
	ports = TAKT_VIEW(udphdr, at);
	key->src_port = takt_be16(ports->source);
	key->dst_port = takt_be16(ports->dest);
	key->has_ports = 1;
}

TAKT_FN void takt_key_ipv4(struct takt_key *key, u64 at, u64 end)
{
	const struct iphdr *ip;
	u32 header;

	if (at + sizeof(struct iphdr) > end)
		return;
	ip = TAKT_VIEW(iphdr, at);
	header = (ip->version_ihl & 15) * 4;
	if (ip->version_ihl >> 4 != 4 || header < sizeof(struct iphdr))
		return;
	if (ip->frag_off & takt_be16(0x3fff))	/* more fragments, or an offset */
		return;
	key->family = TAKT_FAMILY_IPV4;
	key->src[0] = ip->saddr;
	key->dst[0] = ip->daddr;
	key->dscp = ip->tos >> 2;
	key->proto = ip->protocol;
	takt_key_ports(key, at + header, end);
}

/* Hop-by-hop, routing, destination options: the ones that carry no fragment. */
TAKT_FN int takt_is_extension(u8 nexthdr)
{
	return nexthdr == 0 || nexthdr == 43 || nexthdr == 60;
}

TAKT_FN void takt_key_ipv6(struct takt_key *key, u64 at, u64 end)
{
	const struct ipv6hdr *ip;
	u8 proto;
	u32 i;

	if (at + sizeof(struct ipv6hdr) > end)
		return;
	ip = TAKT_VIEW(ipv6hdr, at);
	if (ip->version_priority >> 4 != 6)
		return;
	proto = ip->nexthdr;
	at += sizeof(struct ipv6hdr);
	for (i = 0; i < TAKT_EXTENSIONS_MAX && takt_is_extension(proto); i++) {
		const struct ipv6_opt_hdr *option;

		if (at + sizeof(struct ipv6_opt_hdr) > end)
			return;
		option = TAKT_VIEW(ipv6_opt_hdr, at);
		proto = option->nexthdr;
		at += (option->hdrlen + 1) * 8;
	}
	if (proto == 44 || takt_is_extension(proto))	/* a fragment, or too deep */
		return;

	key->family = TAKT_FAMILY_IPV6;
	for (i = 0; i < 4; i++) {
		key->src[i] = ip->saddr[i];
		key->dst[i] = ip->daddr[i];
	}
	key->dscp = (ip->version_priority & 15) << 2 | ip->flow_lbl[0] >> 6;
	key->proto = proto;
	takt_key_ports(key, at, end);
}

/*
 * Fill in everything but the mark. `at` is where the network header begins or,
 * if ethertype (host order) is a VLAN's, the first tag; `end` is where the
 * readable bytes end. The key must be all zero.
 */
TAKT_FN void takt_key_read(struct takt_key *key, u16 ethertype, u64 at, u64 end)
{
	u32 i;

	for (i = 0; i < TAKT_VLAN_TAGS_MAX && takt_is_vlan(ethertype); i++) {
		if (at + sizeof(struct vlan_hdr) > end)
			return;
		ethertype = takt_be16(TAKT_VIEW(vlan_hdr, at)->h_vlan_encapsulated_proto);
		at += sizeof(struct vlan_hdr);
	}
	if (ethertype == TAKT_ETH_P_IP)
		takt_key_ipv4(key, at, end);
	else if (ethertype == TAKT_ETH_P_IPV6)
		takt_key_ipv6(key, at, end);
}

#endif
