/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The byte clock: when may the next frame leave, if frames are to leave at an exact rate? After
 * PSPacer, section 4 (1): departure times are computed from the bytes that were sent, never from
 * when a timer fired. So a late timer shifts one frame and does not lower the rate.
 *
 *   A frame of L accounted bytes sent at t on a clock of rate r moves it by
 *       due = max(due, t - lag_max) + 8 L / r
 *   A clock that was idle starts at now: idle time earns no credit.
 *
 * Exactness. 8 L / r seconds is seldom a whole number of nanoseconds. The remainder is kept in
 * units of 1/r ns, so that after any number of frames
 *       due * r + rem = start * r + 8e9 * (sum of L)
 * holds to the bit. There is no drift at any rate, by construction.
 *
 * Not here: the order among several clocks (calendar.h), and how a link uses them (link.h).
 */
#ifndef TAKT_BYTECLOCK_H
#define TAKT_BYTECLOCK_H

#include "abi.h"

#define TAKT_RATE_MIN_BPS 1000ULL		/* 1 kbit/s */
#define TAKT_RATE_MAX_BPS 400000000000ULL	/* 400 Gbit/s */

/* 8e9 * LEN_MAX + rate stays below 2^64; a GSO frame is at most 2^19 bytes. */
#define TAKT_LEN_MAX (1ULL << 30)
#define TAKT_NS_PER_BYTE_AT_1BPS 8000000000ULL

struct takt_clock_params {
	u64 rate_bps;	/* RATE_MIN..RATE_MAX; a checked policy names no other */
	u64 lag_max_ns;	/* lateness beyond this is dropped, not made up for */
};

struct takt_clock {
	u64 due_ns;	/* earliest departure of the next frame */
	u64 rem;	/* fraction of due_ns, in 1/rate_bps ns; below rate_bps */
};

/* The clock's entity was idle and has a frame at now. */
TAKT_FN void takt_clock_start(struct takt_clock *clock, u64 now_ns)
{
	if (clock->due_ns < now_ns) {
		clock->due_ns = now_ns;
		clock->rem = 0;
	}
}

/*
 * Advance the clock by the time that len bytes take at this rate. The clock is due, so due_ns is
 * in the past; the sum cannot overflow before the year 2262.
 */
TAKT_FN void takt_clock_advance(struct takt_clock *clock, u64 rate_bps, u64 len)
{
	u64 bits_ns, whole_ns, rem;

	if (!rate_bps)
		rate_bps = 1;
	if (len > TAKT_LEN_MAX)
		len = TAKT_LEN_MAX;

	/*
	 * A remainder of another rate (the policy changed) is less than 1 ns: drop it if too
	 * large.
	 */
	rem = clock->rem < rate_bps ? clock->rem : 0;

	bits_ns = len * TAKT_NS_PER_BYTE_AT_1BPS + rem;
	whole_ns = bits_ns / rate_bps;
	clock->rem = bits_ns - whole_ns * rate_bps;
	clock->due_ns += whole_ns;
}

/*
 * Likewise, by what such a frame takes: so many ns, and a remainder below the rate. Without a
 * division, as the sum of two remainders makes one nanosecond more at most.
 */
TAKT_FN void takt_clock_add(struct takt_clock *clock, u64 rate_bps, u32 ns, u64 rem)
{
	if (clock->rem < rate_bps)
		rem += clock->rem;
	clock->due_ns += ns;
	clock->rem = rem;
	if (rem >= rate_bps) {
		TAKT_BRANCH(rem);
		clock->rem = rem - rate_bps;
		clock->due_ns++;
	}
}

/*
 * A frame of len bytes has left at sent_ns; from_ns is the earliest time that the bytes may count
 * from (0: only the clock itself limits it).
 */
TAKT_FN void takt_clock_spend(struct takt_clock *clock,
			      const struct takt_clock_params *params,
			      u64 from_ns, u64 sent_ns, u64 len)
{
	u64 lag_max_ns = params->lag_max_ns;
	u64 floor_ns = sent_ns > lag_max_ns ? sent_ns - lag_max_ns : 0;

	takt_clock_start(clock, takt_max(floor_ns, from_ns));
	takt_clock_advance(clock, params->rate_bps, len);
}

#endif
