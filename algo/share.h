/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Shares of spare capacity, with weights that may change at any time: start-time fair queueing
 * (Goyal, Vin, Cheng, SIGCOMM '96).
 *
 *   Every entity has a tag: the virtual time at which its next frame begins.
 *   The smallest tag goes first, and virtual time is the tag of the last that
 *   went. A frame of L bytes moves its sender's tag on by 8 L / weight.
 *
 * A backlogged entity's tag is not behind virtual time, and ahead of it by what it still owes: at
 * most its last frame, over its weight. So at any virtual time every entity has had what a fluid
 * scheduler would have given it, to within one frame.
 *
 * The weight is the class's. An entity that belongs to a station (station.h) has a part of it,
 * its scale. When the scale changes, the debt in bytes stays: the distance from virtual time to
 * the tag is multiplied by the old scale over the new one. Then again an entity owes at most one
 * frame, over its present weight. So with any number of changes an entity waits no longer than
 * its new weight says, and gets no more in a time than its weights in that time and one frame.
 * (SoCPS, section 4.3: weights change at every dequeue.)
 *
 * Where stations have bursts, read "burst" for "frame" (burst.h).
 */
#ifndef TAKT_SHARE_H
#define TAKT_SHARE_H

#include "byteclock.h"

#define TAKT_SCALE_WHOLE 1000000U	/* all of its class's weight */
#define TAKT_SCALE_MIN 1000U		/* the least that is not zero */

/* An entity owes at most one frame at the smallest weight, or a burst. */
#define TAKT_OWED_MAX_NS (1ULL << 43)

/* The rate of a share's clock, from its class's. Scale 0: none was set. */
TAKT_FN u64 takt_share_rate(u64 weight_bps, u32 scale_ppm)
{
	if (!scale_ppm)
		return weight_bps;
	return takt_max(weight_bps * scale_ppm / TAKT_SCALE_WHOLE, TAKT_RATE_MIN_BPS);
}

/* The scale changes: the debt in bytes stays, at another weight. */
TAKT_FN void takt_share_rescale(struct takt_clock *share, u64 virtual_ns, u32 from_ppm,
				u32 to_ppm)
{
	u64 owed_ns;

	if (share->due_ns <= virtual_ns || !to_ppm)
		return;
	owed_ns = takt_min(share->due_ns - virtual_ns, TAKT_OWED_MAX_NS);
	share->due_ns = virtual_ns + owed_ns * from_ppm / to_ppm;
	share->rem = 0;
}

#endif
