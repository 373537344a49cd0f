/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a packet takes on the line, whose frames differ from those that the kernel counts:
 *
 *   1. an overhead for each frame,
 *   2. then at least the line's smallest frame,
 *   3. then the cells of ATM, 48 bytes of payload in 53, the last one padded (ITU-T I.361, RFC
 *      2684), or a byte for each 64 begun, as PTM's 64/65-octet encoding has one in 65 (IEEE 802.3,
 *      61.3.3).
 *
 * The order is that of sch_cake (cake_calc_overhead), and so are the figures. For PTM they are a
 * byte above the exact mean at most.
 *
 * A packet of several frames costs what its frames cost: all have the length of the first but the
 * last one, which has what is left. No loop is needed.
 */
#ifndef TAKT_FRAMING_H
#define TAKT_FRAMING_H

#include "abi.h"

#define TAKT_CELLS_NONE 0
#define TAKT_CELLS_ATM 1
#define TAKT_CELLS_PTM 2

#define TAKT_ATM_PAYLOAD 48
#define TAKT_ATM_CELL 53
#define TAKT_PTM_BYTES 64

/* What a line carries of a packet; a checked policy has no more than 256 of either. */
struct takt_framing {
	s32 overhead_bytes;	/* per frame, beyond what the kernel counts, which may be more */
	u32 by_frame;		/* 1: a frame's length counts, by one of the next two */
	u16 least_bytes;	/* of a frame, with its overhead */
	u16 cells;		/* TAKT_CELLS_* */
};

/* Cells for so many bytes of payload, or the same with PTM's bytes. */
TAKT_FN u32 takt_framing_coded(const struct takt_framing *framing, u32 bytes, u32 more_units)
{
	if (framing->cells == TAKT_CELLS_ATM)
		return ((bytes + TAKT_ATM_PAYLOAD - 1) / TAKT_ATM_PAYLOAD + more_units) *
		       TAKT_ATM_CELL;
	if (framing->cells == TAKT_CELLS_PTM)
		return bytes + (bytes + TAKT_PTM_BYTES - 1) / TAKT_PTM_BYTES + more_units;
	return bytes;
}

/* The larger of a length, which may be less than nothing, and the line's smallest frame. */
TAKT_FN u32 takt_framing_least(s64 len, u32 least_bytes)
{
	return len > least_bytes ? (u32)len : least_bytes;
}

/* The line's bytes for a frame, which the kernel counts so many bytes of. */
TAKT_FN u32 takt_framing_frame(const struct takt_framing *framing, u32 bytes)
{
	s64 len = (s64)bytes + framing->overhead_bytes;

	return takt_framing_coded(framing, takt_framing_least(len, framing->least_bytes), 0);
}

/*
 * The most that frames take whose lengths are not known, but their sum: n frames have at most n - 1
 * cells more than one of the sum, and all but the last are as long as each other.
 */
TAKT_FN u32 takt_framing_most(const struct takt_framing *framing, u32 bytes, u32 frames)
{
	s64 sum = (s64)bytes + (s64)frames * framing->overhead_bytes + framing->least_bytes;

	return takt_framing_coded(framing, takt_framing_least(sum, frames * framing->least_bytes),
				  frames - 1);
}

/*
 * What the kernel counts of each of a packet's frames but the last. It counts so many bytes of all
 * of them, the headers of each included; the packet has len, with one header. 0: it is one frame.
 */
TAKT_FN u32 takt_framing_full(u32 bytes, u32 len, u32 frames, u32 gso_size)
{
	return frames > 1 ? gso_size + (bytes - len) / (frames - 1) : 0;
}

/*
 * The line's bytes for a packet where frames' lengths count. `full_bytes`: of each but the last, as
 * the kernel counts. A guest's packet may say what is not so.
 */
TAKT_FN_OUT u32 takt_framing_frames(const struct takt_framing *framing TAKT_ARG, u32 bytes,
				    u32 frames, u32 full_bytes)
{
	u64 before;

	TAKT_NEED(framing, bytes);
	if (frames <= 1)
		return takt_framing_frame(framing, bytes);
	before = (u64)(frames - 1) * full_bytes;
	if (!full_bytes || before >= bytes)
		return takt_framing_most(framing, bytes, frames);
	return (frames - 1) * takt_framing_frame(framing, full_bytes) +
	       takt_framing_frame(framing, bytes - (u32)before);
}

/* The line's bytes for a packet; full_bytes is read with by_frame only. */
TAKT_FN u32 takt_framing_packet(const struct takt_framing *framing, u32 bytes, u32 frames,
				u32 full_bytes)
{
	if (!framing->by_frame)
		return bytes + frames * framing->overhead_bytes;
	return takt_framing_frames(framing, bytes, frames, full_bytes);
}

#endif
