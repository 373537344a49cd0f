/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A link without a rate of its own (rate = "line"): the device decides. Its driver stops the queue
 * while it has enough, and asks for a packet when it wants one. So an answer is always due, and the
 * link's clock has nothing to say.
 *
 * What the clock also tells is for how long the link was in use, which guarantees are put off by
 * when there is less than they ask for (node.h). Here that is measured: a device that took a packet
 * with more queued, and next asks now, was busy in between. One that asked meanwhile and was given
 * nothing was free.
 */
#ifndef TAKT_PUSHBACK_H
#define TAKT_PUSHBACK_H

#include "link_state.h"

/* A device that is stopped for longer is not sending one frame. */
#define TAKT_FRAME_TIME_MAX_NS 100000000ULL
#define TAKT_FRAME_BYTES 1514ULL

/* The device asks at now: note since when the link is free, and for how long it was in use. */
TAKT_FN void takt_pushback_asked(struct takt_link *link, u64 now_ns)
{
	u64 taken_ns = link->taken_ns;

	link->taken_ns = 0;
	link->clock.due_ns = taken_ns ? now_ns : 0;
	link->frame.takes_ns = taken_ns ? takt_min(now_ns - taken_ns, TAKT_FRAME_TIME_MAX_NS) : 0;
}

/* It took a packet, or one was dropped that it asked for. */
TAKT_FN void takt_pushback_took(struct takt_link *link, u64 now_ns)
{
	link->taken_ns = link->queued_packets ? now_ns : 0;
}

/* As far as frames tell that were sent of late; the plan's, if none was. */
TAKT_FN u64 takt_pushback_rate(const struct takt_link *link, u64 plan_bps)
{
	u64 frame_ns = link->order.node[0].frame_ns;

	return frame_ns ? TAKT_FRAME_BYTES * TAKT_NS_PER_BYTE_AT_1BPS / frame_ns : plan_bps;
}

/* A queue does not stand that holds what the line carries in one and a half frames' time. */
TAKT_FN u64 takt_pushback_target(const struct takt_link *link, u64 target_ns)
{
	u64 frame_ns = link->order.node[0].frame_ns;

	return takt_max(target_ns, frame_ns + frame_ns / 2);
}

#endif
