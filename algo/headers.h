/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reads a frame's headers into the key that classification uses.
 *
 * Reads only what lies in the linear part of the packet and only below the given end. Fields that
 * cannot be read (fragments, truncated headers, unknown protocols) stay zero, so such a packet
 * ends up in the default class.
 *
 * Headers are read in rows of 32 bits, as the standards draw them. The address of a row is a
 * multiple of four. In BPF a row is read through a kernel type (a load that faults yields zero),
 * natively and in plain BPF through a pointer; only takt_raw_row() knows the difference.
 */
#ifndef TAKT_HEADERS_H
#define TAKT_HEADERS_H

#include "classify.h"

#ifdef TAKT_BPF
struct in_addr {
	u32 s_addr;
};

/* In the packet's byte order. Types of the kernel are found by debug information. */
static __attribute__((always_inline, unused)) u32 takt_raw_row(u64 at)
{
	const struct in_addr *row =
		bpf_rdonly_cast((void *)at, bpf_core_type_id_kernel(struct in_addr));

	return row->s_addr;
}
#else
TAKT_FN u32 takt_raw_row(u64 at)
{
	return *(const u32 *)at;
}
#endif

/* The first bit on the wire is the highest. */
TAKT_FN u32 takt_row(u64 at)
{
	return __builtin_bswap32(takt_raw_row(at));
}

#define TAKT_ETH_P_IP 0x0800
#define TAKT_ETH_P_IPV6 0x86dd
#define TAKT_ETH_P_8021Q 0x8100
#define TAKT_ETH_P_8021AD 0x88a8
#define TAKT_ETH_P_MPLS_UC 0x8847
#define TAKT_ETH_P_MPLS_MC 0x8848
#define TAKT_ETH_P_PPP_SES 0x8864

#define TAKT_SHIMS_MAX 6	/* VLAN tags, MPLS labels and PPPoE headers that are skipped */
#define TAKT_SHIMS_BYTES 64	/* more than they have, a power of two */
#define TAKT_EXTENSIONS_MAX 6	/* IPv6 extension headers that are skipped */

TAKT_FN int takt_is_vlan(u16 ethertype)
{
	return ethertype == TAKT_ETH_P_8021Q || ethertype == TAKT_ETH_P_8021AD;
}

TAKT_FN int takt_is_mpls(u16 ethertype)
{
	return ethertype == TAKT_ETH_P_MPLS_UC || ethertype == TAKT_ETH_P_MPLS_MC;
}

/* Does the network header begin there? */
TAKT_FN int takt_is_ip(u16 ethertype)
{
	return ethertype == TAKT_ETH_P_IP || ethertype == TAKT_ETH_P_IPV6;
}

/* TCP, UDP, SCTP, DCCP and UDP-Lite all begin with source and destination port. */
TAKT_FN int takt_has_ports(u8 proto)
{
	return proto == 6 || proto == 17 || proto == 33 || proto == 132 || proto == 136;
}

/* Source port, destination port. */
TAKT_FN void takt_key_ports(struct takt_key *key, u64 at, u64 end)
{
	u32 ports;

	if (!takt_has_ports(key->proto) || at + 4 > end)
		return;
	ports = takt_row(at);
	key->src_port = ports >> 16;
	key->dst_port = ports;
	key->has_ports = 1;
}

#define TAKT_IPV4_HEADER 20

/*
 * 0: version 4, header length 4, DSCP 6, ECN 2, length 16
 * 4: identification 16, flags 3 (the last: more fragments), fragment offset 13
 * 8: time to live 8, protocol 8, checksum 16
 * 12: source; 16: destination
 */
TAKT_FN void takt_key_ipv4(struct takt_key *key, u64 at, u64 end, u32 addresses)
{
	u32 first, header;

	if (at + TAKT_IPV4_HEADER > end)
		return;
	first = takt_row(at);
	header = (first >> 24 & 15) * 4;
	if (first >> 28 != 4 || header < TAKT_IPV4_HEADER)
		return;
	if (takt_row(at + 4) & 0x3fff)
		return;
	key->family = TAKT_FAMILY_IPV4;
	key->dscp = first >> 18 & 63;
	key->proto = takt_row(at + 8) >> 16;
	if (addresses) {
		key->src[0] = takt_raw_row(at + 12);
		key->dst[0] = takt_raw_row(at + 16);
	}
	takt_key_ports(key, at + header, end);
}

/* Hop-by-hop, routing, destination options: the ones that carry no fragment. */
TAKT_FN int takt_is_extension(u8 proto)
{
	return proto == 0 || proto == 43 || proto == 60;
}

#define TAKT_IPV6_HEADER 40
#define TAKT_IPV6_FRAGMENT 44

/*
 * 0: version 4, DSCP 6, ECN 2, flow label 20
 * 4: length 16, next header 8, hop limit 8
 * 8: source; 24: destination
 * Extension headers begin: next header 8, length 8 (in units of 8, less one).
 */
TAKT_FN void takt_key_ipv6(struct takt_key *key, u64 at, u64 end, u32 addresses)
{
	u64 next = at + TAKT_IPV6_HEADER;
	u32 first, option, i;
	u8 proto;

	if (next > end)
		return;
	first = takt_row(at);
	if (first >> 28 != 6)
		return;
	proto = takt_row(at + 4) >> 8;
	for (i = 0; i < TAKT_EXTENSIONS_MAX && takt_is_extension(proto); i++) {
		if (next + 4 > end)
			return;
		option = takt_row(next);
		proto = option >> 24;
		next += ((option >> 16 & 0xff) + 1) * 8;
	}
	if (proto == TAKT_IPV6_FRAGMENT || takt_is_extension(proto))
		return;

	key->family = TAKT_FAMILY_IPV6;
	key->dscp = first >> 22 & 63;
	key->proto = proto;
	for (i = 0; i < 4 && addresses; i++) {
		key->src[i] = takt_raw_row(at + 8 + 4 * i);
		key->dst[i] = takt_raw_row(at + 24 + 4 * i);
	}
	takt_key_ports(key, next, end);
}

#define TAKT_PPPOE_HEADER 8	/* the protocol of PPP included */

/*
 * The ethertype of what a PPPoE session carries (RFC 2516); 0: it is not told. A header: version 4,
 * type 4, code 8, session 16, length 16; then the protocol of PPP, 16.
 */
TAKT_FN u16 takt_pppoe_carries(u64 at)
{
	u16 proto = takt_row(at + 4);

	if (takt_row(at) >> 16 != 0x1100)
		return 0;
	if (proto == 0x0021)
		return TAKT_ETH_P_IP;
	return proto == 0x0057 ? TAKT_ETH_P_IPV6 : 0;
}

/*
 * The ethertype of what is behind a label of MPLS (RFC 3032): label 20, traffic class 3, bottom of
 * the stack 1, time to live 8. The bottom does not tell; IP begins with its version there.
 */
TAKT_FN u16 takt_mpls_carries(u16 ethertype, u64 at, u64 end)
{
	u32 version;

	if (!(takt_row(at) & 0x100))
		return ethertype;
	version = at + 8 > end ? 0 : takt_row(at + 4) >> 28;
	if (version == 4)
		return TAKT_ETH_P_IP;
	return version == 6 ? TAKT_ETH_P_IPV6 : 0;
}

/*
 * Returns the value, which the verifier no longer knows: paths that differ by it alone are checked
 * once, not each to the program's end. `unknown` is any value that the verifier does not know.
 */
TAKT_FN u32 takt_forget(u32 value, u32 unknown)
{
#if defined(TAKT_BPF) || defined(TAKT_BPF_PLAIN)
	value ^= unknown;
	asm volatile("" : "+r"(value));
	value ^= unknown;
#else
	(void)unknown;
#endif
	return value;
}

/*
 * What is behind the headers that are skipped: its ethertype in the high half, and their bytes in
 * the low one.
 */
TAKT_FN_RARE u32 takt_shims_skip(u16 ethertype, u64 at, u64 end)
{
	u32 skipped = 0, row, i;
	u64 next;

	TAKT_FOR(i, 0, TAKT_SHIMS_MAX) {
		if (takt_is_ip(ethertype))
			break;
		next = at + skipped;
		if (next + 4 > end)
			break;
		row = takt_row(next);
		/* A tag: priority 3, drop eligible 1, VLAN 12, ethertype of what follows. */
		if (takt_is_vlan(ethertype)) {
			ethertype = row;
			skipped += 4;
		} else if (takt_is_mpls(ethertype)) {
			ethertype = takt_mpls_carries(ethertype, next, end);
			skipped += 4;
		} else if (ethertype == TAKT_ETH_P_PPP_SES && next + TAKT_PPPOE_HEADER <= end) {
			ethertype = takt_pppoe_carries(next);
			skipped += TAKT_PPPOE_HEADER;
		} else {
			break;
		}
		skipped = takt_forget(skipped, row) & (TAKT_SHIMS_BYTES - 1);
	}
	return (u32)ethertype << 16 | skipped;
}

/*
 * Where the header of IP is, behind those that are skipped: its ethertype in the high half, and
 * their bytes in the low one. Another ethertype: there is none.
 */
TAKT_FN u32 takt_ip_at(u16 ethertype, u64 at, u64 end)
{
	return takt_is_ip(ethertype) ? (u32)ethertype << 16 : takt_shims_skip(ethertype, at, end);
}

/*
 * Fill in everything but the mark. `at` is where the header of the ethertype (host order) begins
 * or, if that is a VLAN's, behind it; `end` is where the readable bytes end. The key must be all
 * zero. `addresses`: read them too.
 */
TAKT_FN void takt_key_read(struct takt_key *key, u16 ethertype, u64 at, u64 end,
			   u32 addresses)
{
	u32 skipped;

	if (!takt_is_ip(ethertype)) {
		skipped = takt_shims_skip(ethertype, at, end);
		ethertype = skipped >> 16;
		at += skipped & (TAKT_SHIMS_BYTES - 1);
	}
	if (ethertype == TAKT_ETH_P_IP)
		takt_key_ipv4(key, at, end, addresses);
	else if (ethertype == TAKT_ETH_P_IPV6)
		takt_key_ipv6(key, at, end, addresses);
}

/* The packet's ECN field; at is that of its network header. */
TAKT_FN u32 takt_ecn_read(u16 ethertype, u64 at, u64 end)
{
	if (at + 4 > end)
		return 0;
	if (ethertype == TAKT_ETH_P_IP)
		return takt_row(at) >> 16 & 3;
	return ethertype == TAKT_ETH_P_IPV6 ? takt_row(at) >> 20 & 3 : 0;
}

#endif
