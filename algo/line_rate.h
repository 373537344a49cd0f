/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The rate of a line that changes. The plan has the rate that holds without a measurement. User
 * space measures, and sets another one for a while: it counts from the next frame on, and the
 * plan's counts again from until_ns on, whatever becomes of the process that set it.
 *
 * The link's clock goes on: a change of its rate moves no time that it has reached. A fraction of a
 * nanosecond that does not fit the new rate is dropped, as with a new plan (byteclock.h).
 */
#ifndef TAKT_LINE_RATE_H
#define TAKT_LINE_RATE_H

#include "abi.h"

/* Why user space has set the rate; it is only shown. */
#define TAKT_LINE_HELD 0
#define TAKT_LINE_RAISED 1	/* it is used up, and delay does not grow */
#define TAKT_LINE_LOWERED 2	/* delay grew */
#define TAKT_LINE_DRAINING 3	/* below what the line carries, until its queue is empty */
#define TAKT_LINE_IDLE 4	/* little is sent: it returns to the plan's */
#define TAKT_LINE_UNHEARD 5	/* no reflector answers: likewise */

struct takt_line_rate {
	u64 bps;	/* 0: never set */
	u64 until_ns;	/* the plan's counts from then on */
	u64 added_ns;	/* delay of the line's queue, as measured; it is only shown */
	u32 why;	/* TAKT_LINE_* */
	u32 pad;
};

/* What counts now. User space may write meanwhile: either value of each field is in order. */
TAKT_FN u64 takt_line_rate_now(const struct takt_line_rate *line, u64 plan_bps, u64 now_ns)
{
	u64 bps = line->bps;

	return bps && now_ns < line->until_ns ? bps : plan_bps;
}

#endif
