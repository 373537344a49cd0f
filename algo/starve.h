/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Whether a thread of a higher class, one that never sleeps, leaves the others of its CPU no
 * time. The CPU is looked at from time to time. Each look sees whether such a thread runs, which
 * of the others has waited longest, and when the last of the others came to the CPU or left it.
 */
#ifndef TAKT_STARVE_H
#define TAKT_STARVE_H

#include "abi.h"

#define TAKT_STARVE_MAX_NS 500000000ULL	/* how long a thread may wait so */

struct takt_starve {
	u64 since_ns;	/* when all of the following was first seen */
	u64 waits;	/* who waits, and since when; 0: no one does */
	u64 ran_ns;	/* when another last came to the CPU, or left it */
};

/* Returns how long one thread has waited in vain, if that is too long; 0 if not. */
TAKT_FN u64 takt_starve_look(struct takt_starve *starve, u64 now_ns, u64 waits, u64 ran_ns)
{
	u64 waited_ns = now_ns - starve->since_ns;

	if (waits && starve->waits == waits && starve->ran_ns == ran_ns)
		return waited_ns >= TAKT_STARVE_MAX_NS ? waited_ns : 0;
	starve->since_ns = now_ns;
	starve->waits = waits;
	starve->ran_ns = ran_ns;
	return 0;
}

#endif
