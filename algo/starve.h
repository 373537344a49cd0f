/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Whether threads of higher classes leave the others of their CPU too little time. The CPU is
 * looked at from time to time. Each look sees whether a thread of a higher class runs, which of
 * the others has waited longest, and how much time the others have had so far.
 *
 * It does not matter whether those threads ever sleep. What counts is how long one thread has
 * waited, and what all the others got meanwhile: less than the part that the kernel's own class
 * keeps for them. A thread may wait for a second there, and so it may here, unless the others got
 * nothing at all.
 */
#ifndef TAKT_STARVE_H
#define TAKT_STARVE_H

#include "abi.h"

#define TAKT_STARVE_MAX_NS 500000000ULL		/* how long a thread may wait if none gets time */
#define TAKT_STARVE_SLOW_MAX_NS 1500000000ULL	/* ... and if they get less than their part */
#define TAKT_STARVE_PARTS 20U			/* one in so many is their part */

struct takt_starve {
	u64 since_ns;	/* when the one that waits was first seen */
	u64 waits;	/* who waits, and since when; 0: no one does */
	u64 got_ns;	/* what the others had then */
};

/*
 * `got_ns` is what all but the higher classes have had so far. Returns how long one thread has
 * waited, if that is too long; 0 if not.
 */
TAKT_FN u64 takt_starve_look(struct takt_starve *starve, u64 now_ns, u64 waits, u64 got_ns)
{
	u64 waited_ns = now_ns - starve->since_ns, got = got_ns - starve->got_ns;

	if (waits && starve->waits == waits && got * TAKT_STARVE_PARTS < waited_ns)
		return waited_ns >= (got ? TAKT_STARVE_SLOW_MAX_NS : TAKT_STARVE_MAX_NS) ?
			       waited_ns : 0;
	starve->since_ns = now_ns;
	starve->waits = waits;
	starve->got_ns = got_ns;
	return 0;
}

#endif
