/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Thinning (RFC 3449, section 5.2.1): may a pure acknowledgement of TCP take the place of an older
 * one of its flow that is still queued?
 *
 * It may if the older one says nothing that the newer one does not say. An acknowledgement whose
 * number is the older one's is never thinned: a sender counts those to find a loss. Both have one
 * sequence number, so no data of their flow lies between them, and none is overtaken.
 *
 * What is unusual is not thinned: IP options and extension headers, fragments, VLAN tags within
 * the packet, and options of TCP other than timestamps and SACK (AccECN's count segments).
 */
#ifndef TAKT_THIN_H
#define TAKT_THIN_H

#include "tcp_header.h"

/* Beside ACK the flags that a pure acknowledgement has: AE (RFC 9768), CWR, ECE. */
#define TAKT_TCP_CONGESTION 0x1c0U

#define TAKT_OPTION_SACK 5
#define TAKT_SACK_BLOCKS_MAX 4U

/* What a pure acknowledgement says. */
struct takt_ack {
	u64 flow;		/* see takt_flow_identity() */
	u32 seq, ack;
	u32 stamp, echo;	/* its timestamps, if it has_stamps */
	u16 window;
	u16 congestion;		/* its bits of TAKT_TCP_CONGESTION */
	u8 tos;			/* DSCP and ECN */
	u8 has_stamps;
	u8 blocks;		/* of SACK */
	u8 next;		/* the option to read next, by its first byte; here it is no state
				 * that the verifier would tell apart in each round */
	u32 left[TAKT_SACK_BLOCKS_MAX], right[TAKT_SACK_BLOCKS_MAX];
};

/* The last one of a flow that was queued. */
struct takt_queued_ack {
	struct takt_ack ack;
	u32 id;		/* of its entity; 0: none */
	u32 in;		/* its number there, see takt_queue.in */
	u32 slot;
	u32 pad;
};

#define TAKT_ACKS 1024		/* flows whose acknowledgements are thinned at one time */

struct takt_acks {
	/* User space writes it: nothing is thinned before, since rates fall with contention. */
	u64 paused_until_ns;
	struct takt_queued_ack at[TAKT_ACKS];
};

/* Read SACK's blocks, from this byte of the options on. Are they well formed? */
TAKT_FN_OUT int takt_ack_blocks(struct takt_ack *ack TAKT_ARG, u64 at, u32 byte, u32 bytes)
{
	u32 blocks = bytes / 8, i;

	if (ack->blocks || bytes % 8 || !blocks || blocks > TAKT_SACK_BLOCKS_MAX)
		return 0;
	for (i = 0; i < TAKT_SACK_BLOCKS_MAX && i < blocks; i++) {
		ack->left[i] = takt_word_in(at, byte + 8 * i);
		ack->right[i] = takt_word_in(at, byte + 8 * i + 4);
		if (!takt_seq_before(ack->left[i], ack->right[i]))
			return 0;
	}
	ack->blocks = blocks;
	return 1;
}

/* Read the option at ack->next, of which there is at least one byte. Is it known? */
TAKT_FN int takt_ack_option(struct takt_ack *ack, u64 at, u32 bytes)
{
	u32 byte = ack->next, kind = takt_byte_in(at, byte);
	u32 len = takt_option_bytes(at, byte, bytes);

	if (!len)
		return 0;
	ack->next = byte + len;
	if (kind == TAKT_OPTION_NOP || kind == TAKT_OPTION_END)
		return 1;
	if (kind == TAKT_OPTION_SACK)
		return takt_ack_blocks(ack, at, byte + 2, len - 2);
	if (kind != TAKT_OPTION_STAMPS || len != TAKT_STAMPS_BYTES || ack->has_stamps)
		return 0;
	ack->stamp = takt_word_in(at, byte + 2);
	ack->echo = takt_word_in(at, byte + 6);
	ack->has_stamps = 1;
	return 1;
}

/* Read these bytes of options, a multiple of four. Are all of them known? */
TAKT_FN_OUT int takt_ack_options(struct takt_ack *ack TAKT_ARG, u64 at, u32 bytes)
{
	u32 i;

	if (bytes > TAKT_TCP_OPTIONS_MAX)
		return 0;
	TAKT_FOR (i, 0, TAKT_TCP_OPTIONS_MAX) {
		if (ack->next >= bytes)
			break;
		if (!takt_ack_option(ack, at, bytes))
			return 0;
	}
	return 1;
}

/*
 * Read a packet that may be thinned. Returns whether it is one: then all but `flow` is set, and
 * the key tells which flow it is of. `at` is where the network header begins, `end` where the
 * readable bytes end. Precondition: both structs are all zero.
 */
TAKT_FN_OUT int takt_ack_read(struct takt_ack *ack TAKT_ARG, struct takt_key *key TAKT_ARG,
			      u16 ethertype, u64 at, u64 end)
{
	u32 row, bytes, header;
	u64 tcp;

	tcp = takt_tcp_find(key, ethertype, at, end);
	bytes = tcp ? takt_tcp_bytes(ethertype, at) : 0;
	if (bytes < TAKT_TCP_HEADER || tcp + bytes > end)
		return 0;
	/* 12: header length 4, zero 3, flags 9, window 16 */
	row = takt_row(tcp + 12);
	header = (row >> 28) * 4;
	if (header != bytes || (row >> 16 & 0xfff & ~TAKT_TCP_CONGESTION) != TAKT_TCP_ACK)
		return 0;
	row = takt_row(at);
	ack->tos = ethertype == TAKT_ETH_P_IPV6 ? row >> 20 : row >> 16;
	ack->seq = takt_row(tcp + 4);
	ack->ack = takt_row(tcp + 8);
	row = takt_row(tcp + 12);
	ack->window = row;
	ack->congestion = row >> 16 & TAKT_TCP_CONGESTION;
	return takt_ack_options(ack, tcp + TAKT_TCP_HEADER, bytes - TAKT_TCP_HEADER);
}

/* Does the newer acknowledgement say that this block has arrived? */
TAKT_FN int takt_ack_covers(const struct takt_ack *newer, u32 left, u32 right)
{
	u32 i;

	if (!takt_seq_before(newer->ack, right))
		return 1;
	for (i = 0; i < TAKT_SACK_BLOCKS_MAX && i < newer->blocks; i++) {
		if (!takt_seq_before(left, newer->left[i]) &&
		    !takt_seq_before(newer->right[i], right))
			return 1;
	}
	return 0;
}

/* Does its first block report data that arrived twice (RFC 2883)? It has a block. */
TAKT_FN int takt_ack_is_dsack(const struct takt_ack *ack)
{
	if (takt_seq_before(ack->left[0], ack->ack))
		return 1;
	return ack->blocks > 1 && !takt_seq_before(ack->left[0], ack->left[1]) &&
	       !takt_seq_before(ack->right[1], ack->right[0]);
}

/* Does the newer one say all that the older one's SACK says? */
TAKT_FN_OUT int takt_ack_covers_all(const struct takt_ack *older TAKT_ARG,
				    const struct takt_ack *newer TAKT_ARG)
{
	u32 i;

	if (!older->blocks)
		return 1;
	if (takt_ack_is_dsack(older))
		return 0;
	for (i = 0; i < TAKT_SACK_BLOCKS_MAX && i < older->blocks; i++) {
		if (!takt_ack_covers(newer, older->left[i], older->right[i]))
			return 0;
	}
	return 1;
}

/* Does the newer acknowledgement say all that the older one of the same flow says? */
TAKT_FN int takt_thin_replaces(const struct takt_ack *older, const struct takt_ack *newer)
{
	if (older->flow != newer->flow || older->seq != newer->seq)
		return 0;
	if (!takt_seq_before(older->ack, newer->ack) || newer->window < older->window)
		return 0;
	if (older->tos != newer->tos || older->congestion != newer->congestion ||
	    older->has_stamps != newer->has_stamps)
		return 0;
	/* Without them both are 0. */
	if (takt_seq_before(newer->stamp, older->stamp) ||
	    takt_seq_before(newer->echo, older->echo))
		return 0;
	return takt_ack_covers_all(older, newer);
}

#endif
