/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reads TCP's header and options in a packet (RFC 9293). What is unusual is not found: fragments,
 * IP options and extension headers, and what is between the link's header and IP's.
 */
#ifndef TAKT_TCP_HEADER_H
#define TAKT_TCP_HEADER_H

#include "headers.h"

#define TAKT_IPPROTO_TCP 6
#define TAKT_TCP_HEADER 20
#define TAKT_TCP_OPTIONS_MAX 40U

/* Of the flags' 12 bits, AE (RFC 9768) first, FIN last. */
#define TAKT_TCP_FIN 0x001U
#define TAKT_TCP_SYN 0x002U
#define TAKT_TCP_RST 0x004U
#define TAKT_TCP_ACK 0x010U

#define TAKT_OPTION_END 0
#define TAKT_OPTION_NOP 1
#define TAKT_OPTION_STAMPS 8
#define TAKT_STAMPS_BYTES 10

/* Is the sequence number a before b? They wrap. */
TAKT_FN int takt_seq_before(u32 a, u32 b)
{
	return (s32)(a - b) < 0;
}

/* The 32 bits from this byte on. Reads only rows that they lie in; at is a row's address. */
TAKT_FN u32 takt_word_in(u64 at, u32 byte)
{
	u32 shift = byte % 4 * 8, row = takt_row(at + byte / 4 * 4);

	return shift ? row << shift | takt_row(at + byte / 4 * 4 + 4) >> (32 - shift) : row;
}

TAKT_FN u32 takt_byte_in(u64 at, u32 byte)
{
	return takt_row(at + byte / 4 * 4) >> (24 - byte % 4 * 8) & 0xff;
}

/* The length of the option that begins with this byte of so many; 0: it is malformed. */
TAKT_FN u32 takt_option_bytes(u64 at, u32 byte, u32 bytes)
{
	u32 kind = takt_byte_in(at, byte), len;

	if (kind == TAKT_OPTION_NOP)
		return 1;
	/* Nothing comes behind the end. */
	if (kind == TAKT_OPTION_END)
		return bytes - byte;
	if (byte + 2 > bytes)
		return 0;
	len = takt_byte_in(at, byte + 1);
	return len < 2 || byte + len > bytes ? 0 : len;
}

/* The bytes behind the IP header, if that is plain and TCP follows; otherwise 0. */
TAKT_FN u32 takt_tcp_bytes(u16 ethertype, u64 at)
{
	u32 first = takt_row(at);

	if (ethertype == TAKT_ETH_P_IPV6)
		return (takt_row(at + 4) >> 8 & 0xff) == TAKT_IPPROTO_TCP ? takt_row(at + 4) >> 16 :
									    0;
	if ((first >> 24 & 15) * 4 != TAKT_IPV4_HEADER || (first & 0xffff) < TAKT_IPV4_HEADER)
		return 0;
	return (first & 0xffff) - TAKT_IPV4_HEADER;
}

/*
 * Where the packet's TCP header begins; 0: it has none that is found. The key, all zero before,
 * tells which flow it is of. `at` is where the network header begins, `end` where the readable
 * bytes end. The header may lie beyond the end.
 */
TAKT_FN u64 takt_tcp_find(struct takt_key *key, u16 ethertype, u64 at, u64 end)
{
	if (!takt_is_ip(ethertype))
		return 0;
	takt_key_read(key, ethertype, at, end, 1);
	if (key->proto != TAKT_IPPROTO_TCP || !key->has_ports)
		return 0;
	return at + (ethertype == TAKT_ETH_P_IPV6 ? TAKT_IPV6_HEADER : TAKT_IPV4_HEADER);
}

#endif
