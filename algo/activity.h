/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How much a link is oversubscribed: by the rates of the classes that are active, in epochs of a
 * few milliseconds. Several CPUs use it at the same time, without a lock.
 *
 * Each packet books its class's rate for the time that it takes on the class's clock. So the sum
 * over an epoch is the rate of all classes that were active, and a class that was active for half
 * of it counts half. If that is more than the link's rate, all costs are scaled by the quotient,
 * and shares are in proportion to rates (paper 004, section 3.2: shared links).
 *
 * A class that sends less than its share counts with what it sends, since its packets take longer
 * on a scaled clock: the scale settles where the link is full and no class above its share. It
 * settles for any delay between a booking and its effect, since a change of the scale changes the
 * sum by less.
 */
#ifndef TAKT_ACTIVITY_H
#define TAKT_ACTIVITY_H

#include "shared_clock.h"

#define TAKT_ACTIVITY_EPOCHS 64
#define TAKT_ACTIVITY_PARTS 4	/* epochs that a packet is divided among */
#define TAKT_SCALE_BITS 16
#define TAKT_SCALE_ONE (1ULL << TAKT_SCALE_BITS)
/* Planners refuse what might need more. */
#define TAKT_SCALE_MAX (64 * TAKT_SCALE_ONE)
/* A new scale is a quarter of what the newest sum asks for, and three of the scale before. */
#define TAKT_SCALE_SMOOTHING 2

struct takt_activity {
	u64 epoch;	/* the present one */
	u64 scale;	/* of costs, in 2^-16; 0 is 1 */
	u64 sum[TAKT_ACTIVITY_EPOCHS];	/* kbit/s times ns, by epoch */
};

struct takt_activity_params {
	u64 rate_kbps;		/* the link's */
	u32 epoch_shift;	/* an epoch has 2^shift ns */
	u32 is_oversubscribed;	/* all rates together exceed the link's; 0: nothing is scaled */
};

/* A cost times a scale: below 2^64 for the greatest of both. */
TAKT_FN u64 takt_scaled(u64 cost, u64 scale)
{
	return (cost >> 8) * scale >> (TAKT_SCALE_BITS - 8);
}

TAKT_FN u64 *takt_activity_sum(struct takt_activity *activity, u64 epoch)
{
	return &activity->sum[epoch & (TAKT_ACTIVITY_EPOCHS - 1)];
}

/* The scale by a whole epoch's sum. */
TAKT_FN u64 takt_activity_wanted(struct takt_activity *activity,
				 const struct takt_activity_params *params, u64 epoch)
{
	u64 kbps = *takt_activity_sum(activity, epoch) >> (params->epoch_shift & 63);
	u64 scale = (kbps << TAKT_SCALE_BITS) / takt_max(params->rate_kbps, 1);

	return takt_clamp(scale, TAKT_SCALE_ONE, TAKT_SCALE_MAX);
}

/* The present scale. The first caller in an epoch computes it. */
TAKT_FN u64 takt_activity_scale(struct takt_activity *activity,
				const struct takt_activity_params *params, u64 now_ns)
{
	u64 epoch = now_ns >> (params->epoch_shift & 63), before = activity->epoch, scale, i;

	scale = takt_max(activity->scale, TAKT_SCALE_ONE);
	if (epoch <= before ||
	    __sync_val_compare_and_swap(&activity->epoch, before, epoch) != before)
		return scale;
	if (epoch - before < TAKT_ACTIVITY_EPOCHS) {
		scale -= scale >> TAKT_SCALE_SMOOTHING;
		scale += takt_activity_wanted(activity, params, epoch - 1) >> TAKT_SCALE_SMOOTHING;
	} else {
		scale = TAKT_SCALE_ONE;
	}
	/* Slots of past epochs are those of later ones from now on. */
	for (i = 0; i < TAKT_ACTIVITY_EPOCHS && before + i < epoch; i++)
		*takt_activity_sum(activity, before + i) = 0;
	activity->scale = scale;
	return scale;
}

/* A class of this rate has a packet that takes its clock from start_ns on for so many ns. */
TAKT_FN void takt_activity_book(struct takt_activity *activity,
				const struct takt_activity_params *params, u32 rate_kbps,
				u64 now_ns, u64 start_ns, u64 ns)
{
	u32 shift = params->epoch_shift & 63, part;
	u64 farthest = (now_ns >> shift) + TAKT_ACTIVITY_EPOCHS - 2, epoch, some_ns;

	for (part = 0; part < TAKT_ACTIVITY_PARTS && ns; part++) {
		epoch = start_ns >> shift;
		some_ns = ((epoch + 1) << shift) - start_ns;
		if (some_ns > ns || part == TAKT_ACTIVITY_PARTS - 1)
			some_ns = ns;
		__sync_fetch_and_add(takt_activity_sum(activity, takt_min(epoch, farthest)),
				     rate_kbps * some_ns);
		start_ns += some_ns;
		ns -= some_ns;
	}
}

#endif
