/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A lead that calibrates itself: how long before its beat a thread is released, so that its code
 * runs before the beat, and waits out the rest on the CPU.
 *
 * It is the most that any of the last one to two windows of starts was late, and a margin. So about
 * one start in a thousand comes later than the lead covers. That start counts at once; a lead
 * becomes shorter when it is forgotten. The first starts have all that is reserved for the lead.
 */
#ifndef TAKT_LEAD_H
#define TAKT_LEAD_H

#include "abi.h"

#define TAKT_LEAD_FIRST 64U	/* starts until the lateness is known */
#define TAKT_LEAD_WINDOW 512U	/* starts until an older one no longer counts */
/* From the thread's first instruction to a reading of the clock in which it sees the beat come. */
#define TAKT_LEAD_MARGIN_NS 1000U

struct takt_lead {
	u32 count;		/* starts of this window */
	u32 most_ns;		/* ... and how late one was at most */
	u32 before_most_ns;	/* in the window before */
	u32 is_known;		/* there was a window before */
};

/* A thread's code ran so long after its release. */
TAKT_FN void takt_lead_note(struct takt_lead *lead, u64 late_ns)
{
	lead->most_ns = takt_max(lead->most_ns, (u32)takt_min(late_ns, 0xFFFFFFFFU));
	lead->count++;
	if (lead->count < (lead->is_known ? TAKT_LEAD_WINDOW : TAKT_LEAD_FIRST))
		return;
	lead->before_most_ns = lead->most_ns;
	lead->is_known = 1;
	lead->count = lead->most_ns = 0;
}

/* The present lead, of at most so much. */
TAKT_FN u32 takt_lead_ns(const struct takt_lead *lead, u32 max_ns)
{
	u64 late_ns = takt_max(lead->most_ns, lead->before_most_ns);

	return lead->is_known ? (u32)takt_min(late_ns + TAKT_LEAD_MARGIN_NS, max_ns) : max_ns;
}

#endif
