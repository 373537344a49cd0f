/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reads the header of a TCP segment with the options that a host on the path may use: the segment
 * size, the window's scale and timestamps (RFC 9293, RFC 7323).
 *
 * Not read are fragments, IP options and extension headers, VLAN tags within the packet, and
 * packets of more than 64 KiB (BIG TCP), whose IP header gives no length.
 */
#ifndef TAKT_SEGMENT_H
#define TAKT_SEGMENT_H

#include "tcp_header.h"

#define TAKT_OPTION_MSS 2
#define TAKT_OPTION_SCALE 3
#define TAKT_OPTION_MD5 19	/* RFC 2385 */
#define TAKT_OPTION_AO 29	/* RFC 5925 */

struct takt_segment {
	u32 seq, ack;
	u32 bytes;		/* of data */
	u32 stamp, echo;	/* its timestamps, if it has_stamps */
	u16 flags;
	u16 window;		/* as in the header */
	u16 mss_bytes;		/* 0: it says none */
	u8 scale;		/* if it has_scale */
	u8 has_scale, has_stamps;
	u8 is_signed;		/* a signature covers the header */
	u8 next;		/* the option to read next, as in struct takt_ack */
	u8 pad;
};

/* Read the option at segment->next, of which there is at least one byte. Is it well formed? */
TAKT_FN int takt_segment_option(struct takt_segment *segment, u64 at, u32 bytes)
{
	u32 byte = segment->next, kind = takt_byte_in(at, byte);
	u32 len = takt_option_bytes(at, byte, bytes);

	if (!len)
		return 0;
	segment->next = byte + len;
	if (kind == TAKT_OPTION_STAMPS && len == TAKT_STAMPS_BYTES) {
		segment->stamp = takt_word_in(at, byte + 2);
		segment->echo = takt_word_in(at, byte + 6);
		segment->has_stamps = 1;
	} else if (kind == TAKT_OPTION_MSS && len == 4) {
		segment->mss_bytes = takt_byte_in(at, byte + 2) << 8 | takt_byte_in(at, byte + 3);
	} else if (kind == TAKT_OPTION_SCALE && len == 3) {
		segment->scale = takt_byte_in(at, byte + 2);
		segment->has_scale = 1;
	} else if (kind == TAKT_OPTION_MD5 || kind == TAKT_OPTION_AO) {
		segment->is_signed = 1;
	}
	return 1;
}

/* Read these bytes of options, a multiple of four. Are all of them well formed? */
TAKT_FN_OUT int takt_segment_options(struct takt_segment *segment TAKT_ARG, u64 at, u32 bytes)
{
	u32 i;

	if (bytes > TAKT_TCP_OPTIONS_MAX)
		return 0;
	TAKT_FOR (i, 0, TAKT_TCP_OPTIONS_MAX) {
		if (segment->next >= bytes)
			break;
		if (!takt_segment_option(segment, at, bytes))
			return 0;
	}
	return 1;
}

/*
 * Read a packet. Returns where its TCP header begins, and 0 if it is none that is read; the key
 * tells which flow it is of. `at` is where the network header begins, `end` where the readable
 * bytes end, at least those of the headers. Precondition: both structs are all zero.
 */
TAKT_FN_OUT u64 takt_segment_read(struct takt_segment *segment TAKT_ARG,
				  struct takt_key *key TAKT_ARG, u16 ethertype, u64 at, u64 end)
{
	u32 row, bytes, header;
	u64 tcp;

	tcp = takt_tcp_find(key, ethertype, at, end);
	bytes = tcp ? takt_tcp_bytes(ethertype, at) : 0;
	if (bytes < TAKT_TCP_HEADER || tcp + TAKT_TCP_HEADER > end)
		return 0;
	/* 12: header length 4, zero 3, flags 9, window 16 */
	row = takt_row(tcp + 12);
	header = (row >> 28) * 4;
	if (header < TAKT_TCP_HEADER || header > bytes || tcp + header > end)
		return 0;
	segment->seq = takt_row(tcp + 4);
	segment->ack = takt_row(tcp + 8);
	segment->flags = row >> 16 & 0xfff;
	segment->window = row;
	segment->bytes = bytes - header;
	if (!takt_segment_options(segment, tcp + TAKT_TCP_HEADER, header - TAKT_TCP_HEADER))
		return 0;
	return tcp;
}

#endif
