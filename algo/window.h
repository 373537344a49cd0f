/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Bounds on the congestion window of one flow, from how much longer its round trips take than the
 * shortest, from how many terminals are active and from what their group achieves together. After
 * cooperative middleware, section 6, which proposes to set both bounds from these and leaves the
 * law open; docs/crowd-law.md derives this one.
 *
 *   share  what the group gets, over the terminals that can use it; a terminal that
 *          its application holds back lends its own
 *   W      share * RTTmin + standing / terminals: the pipe and a part of one small
 *          queue that all keep together
 *   hold   share * RTT * n / (n + 1), if that is more: beside a sender that fills
 *          queues and belongs to no group, round trips grow for all; this much keeps
 *          the share and leaves that sender one
 *
 * The window is a number of pairs: a receiver acknowledges every second segment, so an odd one
 * waits. What is rounded off is carried to the next period.
 *
 * Rates are in bytes per second, times in microseconds, windows in segments or, where they end in
 * _q10, in 1/1024 of one.
 */
#ifndef TAKT_WINDOW_H
#define TAKT_WINDOW_H

#include "abi.h"

/* Limits of inputs, so that products do not overflow. */
#define TAKT_WINDOW_RATE_MAX 10000000000ULL	/* 80 Gbit/s */
#define TAKT_WINDOW_RTT_MAX_US 100000000ULL
#define TAKT_WINDOW_MAX 1000000U
#define TAKT_WINDOW_TERMINALS_MAX 65536ULL

#define TAKT_WINDOW_MIN 2U
#define TAKT_WINDOW_PAIR 2U
#define TAKT_WINDOW_ONE_Q10 1024ULL

/* hold is at most this multiple of share * RTTmin. */
#define TAKT_WINDOW_HOLD_MAX 16U
/*
 * With more than one loss in this many segments the lower bound is dropped: that is not the
 * radio.
 */
#define TAKT_WINDOW_LOSS_DIVISOR 16U
/* Slow start is over if round trips exceed the least by more than this part of it. */
#define TAKT_WINDOW_START_DIVISOR 16U

struct takt_window_params {
	u64 standing_q10;	/* what all keep in queues together, segments */
	u32 memory_shift;	/* a lower capacity is adopted by 2^-shift per period */
	u32 window_max;		/* segments, 2..TAKT_WINDOW_MAX */
};

/* A terminal's view of its group, itself included. */
struct takt_window_group {
	u64 rate;		/* of all, bytes per second */
	u64 lent_rate;		/* of those held back by their applications */
	u32 terminals;		/* active ones */
	u32 lenders;		/* of these, held back by their applications */
	u64 capacity;		/* what the group achieved lately */
};

/* One flow over one period. */
struct takt_window_sample {
	u64 rate;		/* delivered, bytes per second */
	u64 rtt_us;		/* mean of the period; 0: none was measured */
	u64 rtt_min_us;
	u32 mss_bytes;
	u32 window;		/* the congestion window now, segments */
	u32 own_flows;		/* flows of this terminal that its window holds back */
	u32 sent, lost;		/* segments */
	u32 limited;		/* the window held it back, not its application */
	u32 starting;		/* in its first slow start, nothing lost and no delay seen */
};

struct takt_window {
	u64 target_q10;		/* 0: nothing is known yet */
	u64 rest_q10;		/* rounded off so far */
};

/* lower may be 0 and upper window_max: no bound. */
struct takt_window_bounds {
	u32 lower, upper;
};

/* Add a member's report; its rate counts up to limit. */
TAKT_FN void takt_window_hear(struct takt_window_group *group, u64 rate, u64 limit,
			      u32 is_lender)
{
	rate = takt_min(takt_min(rate, limit), TAKT_WINDOW_RATE_MAX);
	if (group->terminals >= TAKT_WINDOW_TERMINALS_MAX)
		return;
	group->rate = takt_min(group->rate + rate, TAKT_WINDOW_RATE_MAX);
	group->terminals++;
	if (is_lender) {
		group->lent_rate = takt_min(group->lent_rate + rate, TAKT_WINDOW_RATE_MAX);
		group->lenders++;
	}
}

/*
 * A period is over: update the capacity. It rises by a sixteenth of the difference, so that it
 * does not follow noise (hold would then keep up a queue). It falls more slowly, and only while
 * some terminal could have used more.
 */
TAKT_FN void takt_window_remember(struct takt_window_group *group,
				  const struct takt_window_params *params)
{
	u64 rate = takt_min(group->rate, TAKT_WINDOW_RATE_MAX);

	if (rate >= group->capacity)
		group->capacity += (rate - group->capacity + 15) / 16;
	else if (group->lenders < group->terminals)
		group->capacity -= (group->capacity - rate) >> (params->memory_shift & 63);
}

/* The terminals that use what they can get, at least one. */
TAKT_FN u64 takt_window_users(const struct takt_window_group *group)
{
	u64 users = group->terminals > group->lenders ? group->terminals - group->lenders : 1;

	return takt_min(users, TAKT_WINDOW_TERMINALS_MAX);
}

/* The part of each of them in a rate that all get together, bytes per second. */
TAKT_FN u64 takt_window_share(const struct takt_window_group *group, u64 rate)
{
	u64 lent = takt_min(group->lent_rate, rate);

	return takt_min(rate - lent, TAKT_WINDOW_RATE_MAX) / takt_window_users(group);
}

/* rate * time, in 1/1024 segments. */
TAKT_FN u64 takt_window_flight_q10(u64 rate, u64 time_us, u32 mss_bytes)
{
	u64 bytes = takt_min(rate, TAKT_WINDOW_RATE_MAX) *
		    takt_min(time_us, TAKT_WINDOW_RTT_MAX_US) / 1000000;
	u64 most = (u64)TAKT_WINDOW_MAX * 65536;

	return takt_min(bytes, most) * TAKT_WINDOW_ONE_Q10 / takt_max(mss_bytes, 1);
}

/* The target of the window. Cooperative middleware, section 6: from RTT / RTTmin and the group. */
TAKT_FN_OUT u64 takt_window_aim_q10(const struct takt_window *flow TAKT_ARG,
				    const struct takt_window_params *params TAKT_ARG,
				    const struct takt_window_group *group TAKT_ARG,
				    const struct takt_window_sample *sample TAKT_ARG)
{
	u64 rtt_us = takt_clamp(sample->rtt_us, 1, TAKT_WINDOW_RTT_MAX_US);
	u64 rtt_min_us = takt_clamp(sample->rtt_min_us, 1, rtt_us);
	u64 users = takt_window_users(group), flows = takt_max(sample->own_flows, 1);
	u64 own = takt_min(sample->rate, TAKT_WINDOW_RATE_MAX);
	u64 share = takt_window_share(group, group->rate) / flows;
	u64 standing_q10 = params->standing_q10 / users / flows;
	u64 pipe_q10, queued_q10, hold_q10, aim_q10;

	/* Without neighbours only its own round trips count. */
	if (users > 1)
		own = own / 2 + share / 2;
	pipe_q10 = takt_window_flight_q10(own, rtt_min_us, sample->mss_bytes);
	queued_q10 = takt_window_flight_q10(own, rtt_us - rtt_min_us, sample->mss_bytes);
	aim_q10 = pipe_q10 + standing_q10;

	/* No queue: there is room for more, whatever others report. */
	if (queued_q10 < standing_q10 / 4)
		aim_q10 = takt_max(aim_q10, flow->target_q10 + flow->target_q10 / 4);

	share = takt_window_share(group, group->capacity) / flows;
	hold_q10 = takt_window_flight_q10(share, rtt_us, sample->mss_bytes) / (users + 1) * users;
	pipe_q10 = takt_window_flight_q10(share, rtt_min_us, sample->mss_bytes);
	hold_q10 = takt_min(hold_q10, pipe_q10 * TAKT_WINDOW_HOLD_MAX);
	return takt_max(aim_q10, hold_q10);
}

/* A window of whole pairs near the target; the remainder is carried to the next period. */
TAKT_FN u32 takt_window_round(struct takt_window *flow, u32 window_max)
{
	u64 pair_q10 = TAKT_WINDOW_PAIR * TAKT_WINDOW_ONE_Q10;
	u64 sum_q10 = flow->target_q10 + takt_min(flow->rest_q10, pair_q10 - 1);
	u64 pairs = sum_q10 / pair_q10;

	flow->rest_q10 = sum_q10 % pair_q10;
	return takt_clamp(pairs * TAKT_WINDOW_PAIR, TAKT_WINDOW_MIN, window_max);
}

/*
 * A new flow doubles its window each round trip and so fills the pipe sooner than periods would.
 * It is left alone until round trips grow.
 */
TAKT_FN u32 takt_window_is_starting(const struct takt_window_sample *sample)
{
	u64 least_us = takt_min(sample->rtt_min_us, TAKT_WINDOW_RTT_MAX_US);

	return sample->starting &&
	       sample->rtt_us <= least_us + least_us / TAKT_WINDOW_START_DIVISOR;
}

/*
 * Before the first bounds: the initial target, in 1/1024 segments, or 0: not yet. A flow that is
 * not limited by its window needs none, unless it gets more than twice what the others do.
 */
TAKT_FN_OUT u64 takt_window_initial_q10(const struct takt_window_group *group TAKT_ARG,
					const struct takt_window_sample *sample TAKT_ARG)
{
	u64 window_q10 = takt_max(sample->window, 1) * TAKT_WINDOW_ONE_Q10;
	u64 flight_q10 = takt_window_flight_q10(sample->rate, sample->rtt_us, sample->mss_bytes);
	u64 share = takt_window_share(group, group->rate) / takt_max(sample->own_flows, 1);

	if (sample->limited)
		return takt_window_is_starting(sample) ? 0 : window_q10;
	if (takt_window_users(group) < 2 || sample->rate / 2 <= share)
		return 0;
	return takt_clamp(flight_q10, TAKT_WINDOW_ONE_Q10, window_q10);
}

/*
 * A period is over: the flow's bounds for the next. A flow that its application holds back keeps
 * its target, which its window did not test, and needs no lower bound.
 */
TAKT_FN void takt_window_update(struct takt_window *flow,
				const struct takt_window_params *params,
				const struct takt_window_group *group,
				const struct takt_window_sample *sample,
				struct takt_window_bounds *bounds)
{
	u32 window_max = takt_clamp(params->window_max, TAKT_WINDOW_MIN, TAKT_WINDOW_MAX);
	u64 max_q10 = window_max * TAKT_WINDOW_ONE_Q10, target_q10, aim_q10;
	u32 measured = sample->rtt_us && sample->rtt_min_us && sample->rate;

	bounds->lower = 0;
	bounds->upper = window_max;
	if (!flow->target_q10 && measured)
		flow->target_q10 = takt_window_initial_q10(group, sample);
	if (!flow->target_q10)
		return;
	target_q10 = flow->target_q10;
	if (measured && sample->limited) {
		aim_q10 = takt_window_aim_q10(flow, params, group, sample);
		/* Halfway, and never more than double or half. */
		aim_q10 = takt_clamp(aim_q10, 0, 3 * target_q10);
		target_q10 = (target_q10 + aim_q10 + 1) / 2;
	}
	flow->target_q10 = takt_clamp(target_q10, TAKT_WINDOW_MIN * TAKT_WINDOW_ONE_Q10, max_q10);
	bounds->upper = takt_window_round(flow, window_max);
	if (!measured || !sample->limited)
		return;
	if ((u64)sample->lost * TAKT_WINDOW_LOSS_DIVISOR <= sample->sent)
		bounds->lower = bounds->upper;
}

/*
 * The congestion window within its bounds. After a timeout the lower bound does not apply: the
 * network may be gone, and slow start has to find out.
 */
TAKT_FN u32 takt_window_bound(const struct takt_window_bounds *bounds, u32 window,
			      u32 after_timeout)
{
	u32 upper = takt_max(bounds->upper, TAKT_WINDOW_MIN);
	u32 lower = after_timeout ? 0 : takt_min(bounds->lower, upper);

	return takt_clamp(window, lower, upper);
}

#endif
