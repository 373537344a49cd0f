/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A byte clock that several CPUs advance at the same time, without a lock: the departure time of
 * each packet is known when it arrives (PSPacer, section 4 (1), as byteclock.h; departure times
 * instead of queues: Carousel, SIGCOMM '17).
 *
 * Time is counted in units of 2^-16 ns, so a cost that is no whole number of them is rounded by
 * less than 1 ppm of a full frame's at 400 Gbit/s, and by far less at lower rates. The count wraps
 * after 3.2 days; only differences are used. A clock that has been idle for so long, to within its
 * backlog, delays its next packets by no more than the backlog, once.
 */
#ifndef TAKT_SHARED_CLOCK_H
#define TAKT_SHARED_CLOCK_H

#include "abi.h"

#define TAKT_SHARED_BITS 16
#define TAKT_SHARED_COST_MAX (1ULL << 49)
#define TAKT_SHARED_REFUSED (1ULL << 62)

struct takt_shared_clock {
	u64 due;	/* departure of the next packet, in units, modulo 2^64 */
};

struct takt_shared_params {
	u64 backlog_max;	/* in units; below 2^60 */
	u64 forwarded_max;	/* the same for packets whose senders are not pushed back */
	u64 multiplier;		/* a byte costs multiplier / 2^shift units; below 2^44 */
	u32 shift;
	u32 rate_kbps;
};

/* What a packet of so many bytes, at most 2^20, costs in units: 8.6 s at most. */
TAKT_FN u64 takt_shared_cost(const struct takt_shared_params *params, u64 bytes)
{
	return takt_min(bytes * params->multiplier >> (params->shift & 63), TAKT_SHARED_COST_MAX);
}

/*
 * Take the next `cost` units of the clock. Returns how far in the future, in units, the packet
 * departs; 0: at once; REFUSED: the backlog is at its limit.
 */
TAKT_FN u64 takt_shared_take(struct takt_shared_clock *clock, u64 backlog_max, u64 cost, u64 now)
{
	u64 due = *(volatile u64 *)&clock->due, ahead = due - now;

	/* A backlog is never so large: the clock was idle, and earns no credit. */
	if (ahead - 1 >= 2 * backlog_max) {
		if (__sync_val_compare_and_swap(&clock->due, due, now + cost) == due)
			return 0;
		/* Another CPU has started it. */
	} else if (ahead > backlog_max) {
		return TAKT_SHARED_REFUSED;
	}
	ahead = __sync_fetch_and_add(&clock->due, cost) - now;
	return ahead > 2 * backlog_max + cost ? 0 : ahead;
}

#endif
