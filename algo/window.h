/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Bounds on the congestion window of one flow, from how long its packets wait in queues that do
 * not empty, from how many terminals are active and from what their group achieves together.
 * After cooperative middleware, section 6, which proposes to set both bounds from the round trips
 * and the group and leaves the law open; docs/crowd-law.md derives this one.
 *
 *   wait   how much longer the shortest round trips of half a round trip are than the
 *          shortest of all: the time in queues that never empty (the standing round trip of
 *          Copa, NSDI 2018)
 *   base   the mean round trip without wait: wire, air, the flow's own bursts, jitter
 *   share  what the group gets, over the terminals that can use it; a terminal that
 *          its application holds back lends its own
 *   W      share * base + standing / terminals: the pipe and a part of one small
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

/* hold counts round trips up to this multiple of the least. */
#define TAKT_WINDOW_HOLD_MAX 2U
/* Beside strangers that the access point counts, up to this one. */
#define TAKT_WINDOW_STRANGER_MAX 8U
/* Less than this part of its own standing queue: the window grows by a quarter, or doubles. */
#define TAKT_WINDOW_GROW_DIVISOR 4U
#define TAKT_WINDOW_DOUBLE_DIVISOR 16U
/* The standing queue grows by this multiple of the losses, which count up to one in 16. */
#define TAKT_WINDOW_LOSS_GAIN 40U
#define TAKT_WINDOW_LOSS_MAX_Q16 (65536U / TAKT_WINDOW_LOSS_DIVISOR)
/* The largest target is forgotten by this part in a period. */
#define TAKT_WINDOW_CALM_DIVISOR 64U
/* Above so many frames sent again, of 1024, the standing queue is this one. */
#define TAKT_WINDOW_RETRIES_MAX_Q10 205U
#define TAKT_WINDOW_COLLIDING_Q10 2048U
/* A backlogged flow with fewer quarters of its share leaves the rest to others. */
#define TAKT_WINDOW_USES_QUARTERS 3U
/* A flow with so many quarters of what its socket allows is paced: the rest is headers. */
#define TAKT_WINDOW_PACED_QUARTERS 3U
/* It catches up with what CUBIC would have, or has done so. */
#define TAKT_WINDOW_COMPETES_BEHIND 1U
#define TAKT_WINDOW_COMPETES 2U
/* CUBIC's constant: 0.4 segments in a second's cube, here of 1/1024 and 1/64. */
#define TAKT_WINDOW_TICK_US 15625U
#define TAKT_WINDOW_TICKS_MAX 3840U
#define TAKT_WINDOW_CUBE_DIVISOR 640U
/* A neighbours' wait that is longer by less than this part of the least says nothing. */
#define TAKT_WINDOW_WAIT_DIVISOR 16U
/*
 * With more than one loss in this many segments the lower bound is dropped: that is not the
 * radio.
 */
#define TAKT_WINDOW_LOSS_DIVISOR 16U

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
	u64 wait_us;		/* the lower median of what its members wait; 0: unknown */
	u64 stranger_rate;	/* of terminals of no group, as the access point counts them */
	u64 strangers;		/* their number; 0: none, or it is not told */
	u64 competes_us;	/* so long others have filled the queue: no bounds; 0: no */
	u64 retries_q10;	/* frames that a member sends again, of 1024; 0: unknown */
	u64 queue_us;		/* all keep so long in queues, for aggregates; 0: no more */
};

/* One flow over one period. */
struct takt_window_sample {
	u64 rate;		/* delivered, bytes per second */
	u64 pacing_rate;	/* the most that its socket allows, likewise; 0: any */
	u64 rtt_us;		/* mean of the period; 0: none was measured */
	u64 stand_us;		/* mean of the shortest of each half round trip */
	u64 rtt_min_us;
	u32 mss_bytes;
	u32 window;		/* the congestion window now, segments */
	u32 own_flows;		/* flows of this terminal that its window holds back */
	u32 sent, lost;		/* segments */
	u32 limited;		/* the window held it back */
	u32 backlogged;		/* its application had more to send */
	u32 starting;		/* in its first slow start, nothing lost and no delay seen */
};

struct takt_window {
	u64 target_q10;		/* 0: nothing is known yet */
	u64 rest_q10;		/* rounded off so far */
	u64 loss_q16;		/* of the last periods, in 1/65536 of what was sent */
	u64 calm_q10;		/* the largest window lately: where it competes from */
	u64 competes;		/* one of TAKT_WINDOW_COMPETES_...; 0: it does not */
};

/* The round trips of one flow in one period. */
struct takt_round_trips {
	u64 sum_us;
	u64 stand_sum_us;	/* the shortest of each half round trip */
	u64 since_ns;		/* when the present half began; 0: not yet */
	u32 count, stand_count;
	u32 least_us;		/* of the present half; 0: none yet */
	u32 pad;
};

/* lower may be 0 and upper window_max: no bound. */
struct takt_window_bounds {
	u32 lower, upper;
};

/*
 * A round trip was measured; the smoothed one is srtt_us. Returns the shortest of a half round
 * trip that is over, or 0.
 */
TAKT_FN u32 takt_round_trips_add(struct takt_round_trips *trips, u64 now_ns, u32 rtt_us,
				 u32 srtt_us)
{
	u32 least_us;

	trips->sum_us += rtt_us;
	trips->count++;
	if (!trips->least_us || rtt_us < trips->least_us)
		trips->least_us = rtt_us;
	if (!trips->since_ns)
		trips->since_ns = now_ns;
	if (now_ns - trips->since_ns < (u64)srtt_us * 1000 / 2)
		return 0;
	least_us = trips->least_us;
	trips->stand_sum_us += least_us;
	trips->stand_count++;
	trips->least_us = 0;
	trips->since_ns = now_ns;
	return least_us;
}

/* A period is over: forget its round trips, but not the half that goes on. */
TAKT_FN void takt_round_trips_forget(struct takt_round_trips *trips)
{
	trips->sum_us = 0;
	trips->count = 0;
	trips->stand_sum_us = 0;
	trips->stand_count = 0;
}

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

/*
 * Whether the flow uses all it can get. One that is backlogged may be held back by its own device,
 * which sends as much as the air takes, or by a class of its own host, which leaves the rest to
 * the others: that one has clearly less than the share. Without others nothing tells them apart.
 * So may one whose window is full at the rate that its socket allows: a larger one sends no more.
 */
TAKT_FN u32 takt_window_uses(const struct takt_window_group *group,
			     const struct takt_window_sample *sample)
{
	u64 share = takt_window_share(group, group->rate) / takt_max(sample->own_flows, 1);
	u32 paced = sample->pacing_rate &&
		    sample->rate >= sample->pacing_rate / 4 * TAKT_WINDOW_PACED_QUARTERS;
	u32 limited = sample->limited && !paced;

	if (limited || group->terminals < 2)
		return limited;
	return sample->backlogged && sample->rate >= share / 4 * TAKT_WINDOW_USES_QUARTERS;
}

/* rate * time, in 1/1024 segments. */
TAKT_FN u64 takt_window_flight_q10(u64 rate, u64 time_us, u32 mss_bytes)
{
	u64 bytes = takt_min(rate, TAKT_WINDOW_RATE_MAX) *
		    takt_min(time_us, TAKT_WINDOW_RTT_MAX_US) / 1000000;
	u64 most = (u64)TAKT_WINDOW_MAX * 65536;

	return takt_min(bytes, most) * TAKT_WINDOW_ONE_Q10 / takt_max(mss_bytes, 1);
}

/*
 * What all keep in queues together, in 1/1024 segments. Where devices send aggregates they take
 * them from what waits, and a short queue makes short ones, which waste the air.
 */
TAKT_FN u64 takt_window_queue_q10(const struct takt_window_params *params,
				  const struct takt_window_group *group,
				  const struct takt_window_sample *sample)
{
	return takt_max(params->standing_q10,
			takt_window_flight_q10(group->rate, group->queue_us, sample->mss_bytes));
}

/* How long the flow's packets wait, by itself and by what the group says. */
TAKT_FN_OUT u64 takt_window_wait_us(const struct takt_window_params *params TAKT_ARG,
				    const struct takt_window_group *group TAKT_ARG,
				    const struct takt_window_sample *sample TAKT_ARG)
{
	u64 stand_us = takt_min(sample->stand_us, TAKT_WINDOW_RTT_MAX_US);
	u64 least_us = takt_clamp(sample->rtt_min_us, 1, TAKT_WINDOW_RTT_MAX_US);
	u64 own_us = stand_us > least_us ? stand_us - least_us : 0;
	u64 others_us = takt_min(group->wait_us, stand_us ? stand_us - 1 : 0);
	u64 rate = takt_min(group->rate, TAKT_WINDOW_RATE_MAX);
	u64 queue_us, slack_us = least_us / TAKT_WINDOW_WAIT_DIVISOR;

	if (rate) {
		queue_us = takt_window_queue_q10(params, group, sample) / TAKT_WINDOW_ONE_Q10;
		queue_us = 2 * queue_us * sample->mss_bytes * 1000000ULL / rate;
		slack_us = takt_max(slack_us, queue_us);
	}
	/* It came when a queue stood already, and never saw the shortest round trip. */
	return others_us > own_us + slack_us ? others_us : own_us;
}

/* Whether frames collide so often that rate control may take it for a bad radio. */
TAKT_FN u32 takt_window_collides(const struct takt_window_group *group)
{
	return group->retries_q10 > TAKT_WINDOW_RETRIES_MAX_Q10;
}

/* What the flow keeps in queues, in 1/1024 segments: its part of the group's, more with losses. */
TAKT_FN_OUT u64 takt_window_standing_q10(const struct takt_window *flow TAKT_ARG,
					 const struct takt_window_params *params TAKT_ARG,
					 const struct takt_window_group *group TAKT_ARG,
					 const struct takt_window_sample *sample TAKT_ARG)
{
	u64 loss_q16 = takt_min(flow->loss_q16, TAKT_WINDOW_LOSS_MAX_Q16);
	u64 queue_q10 = takt_window_queue_q10(params, group, sample);
	u64 all_q10 = queue_q10 + queue_q10 * TAKT_WINDOW_LOSS_GAIN * loss_q16 / 65536;

	if (takt_window_collides(group))
		all_q10 = takt_min(all_q10, TAKT_WINDOW_COLLIDING_Q10);
	return all_q10 / takt_window_users(group) / takt_max(sample->own_flows, 1);
}

/* Beside a stranger that fills queues: what keeps the group's share, and leaves it one. */
TAKT_FN_OUT u64 takt_window_hold_q10(const struct takt_window *flow TAKT_ARG,
				     const struct takt_window_group *group TAKT_ARG,
				     const struct takt_window_sample *sample TAKT_ARG)
{
	u64 rtt_us = takt_min(sample->rtt_us, TAKT_WINDOW_RTT_MAX_US);
	u64 least_us = takt_min(sample->rtt_min_us, TAKT_WINDOW_RTT_MAX_US);
	u64 users = takt_window_users(group), flows = takt_max(sample->own_flows, 1);
	u64 strangers = takt_min(group->strangers, TAKT_WINDOW_TERMINALS_MAX);
	u64 share, most_q10;

	/* What is lacking went to collisions, not to a stranger. */
	if (takt_window_collides(group))
		return 0;
	if (strangers) {
		/* An equal part of all that the air carries, for as long as one is missing. */
		share = takt_min(group->rate, TAKT_WINDOW_RATE_MAX) +
			takt_min(group->stranger_rate, TAKT_WINDOW_RATE_MAX);
		share = share / (users + strangers) / flows;
		most_q10 = takt_window_flight_q10(share, least_us * TAKT_WINDOW_STRANGER_MAX,
						  sample->mss_bytes);
		/* Round trips of thinned acknowledgements look short, so by what the window got. */
		return takt_min(flow->target_q10 * takt_min(share, TAKT_WINDOW_RATE_MAX) /
					takt_max(sample->rate, 1), most_q10);
	}
	share = takt_window_share(group, group->capacity) / flows;
	rtt_us = takt_min(rtt_us, least_us * TAKT_WINDOW_HOLD_MAX);
	return takt_window_flight_q10(share, rtt_us, sample->mss_bytes) / (users + 1) * users;
}

/* The target of the window. Cooperative middleware, section 6: from round trips and the group. */
TAKT_FN_OUT u64 takt_window_aim_q10(const struct takt_window *flow TAKT_ARG,
				    const struct takt_window_params *params TAKT_ARG,
				    const struct takt_window_group *group TAKT_ARG,
				    const struct takt_window_sample *sample TAKT_ARG)
{
	u64 rtt_us = takt_clamp(sample->rtt_us, 1, TAKT_WINDOW_RTT_MAX_US);
	u64 wait_us = takt_min(takt_window_wait_us(params, group, sample), rtt_us - 1);
	u64 users = takt_window_users(group), flows = takt_max(sample->own_flows, 1);
	u64 own = takt_min(sample->rate, TAKT_WINDOW_RATE_MAX);
	u64 share = takt_window_share(group, group->rate) / flows;
	u64 standing_q10 = takt_window_standing_q10(flow, params, group, sample);
	u64 queued_q10, aim_q10;

	/* Without neighbours only its own round trips count. */
	if (users > 1)
		own = own / 2 + share / 2;
	aim_q10 = takt_window_flight_q10(own, rtt_us - wait_us, sample->mss_bytes) + standing_q10;
	queued_q10 = takt_window_flight_q10(own, wait_us, sample->mss_bytes);

	if (takt_window_collides(group))
		return takt_min(aim_q10, flow->target_q10 / 2);
	if (group->retries_q10 > TAKT_WINDOW_RETRIES_MAX_Q10 / 2)
		return aim_q10;
	if (!sample->limited)
		return takt_max(aim_q10, takt_window_hold_q10(flow, group, sample));
	/* No queue, and the window was tested: there is room for more, whatever others report. */
	if (queued_q10 < standing_q10 / TAKT_WINDOW_DOUBLE_DIVISOR)
		aim_q10 = takt_max(aim_q10, flow->target_q10 * 2);
	else if (queued_q10 < standing_q10 / TAKT_WINDOW_GROW_DIVISOR)
		aim_q10 = takt_max(aim_q10, flow->target_q10 + flow->target_q10 / 4);
	return takt_max(aim_q10, takt_window_hold_q10(flow, group, sample));
}

/* A window of whole pairs near the target; the remainder is carried to the next period. */
TAKT_FN u32 takt_window_round(struct takt_window *flow, u32 window_max)
{
	u64 pair_q10 = TAKT_WINDOW_PAIR * TAKT_WINDOW_ONE_Q10;
	u64 sum_q10 = flow->target_q10 + takt_min(flow->rest_q10, pair_q10 - 1);
	u64 pairs = sum_q10 / pair_q10;

	flow->rest_q10 = sum_q10 % pair_q10;
	/* Less than a pair waits for the receiver's timer, which is what it is for. */
	return takt_clamp(pairs * TAKT_WINDOW_PAIR, pairs ? TAKT_WINDOW_MIN : 1, window_max);
}

/*
 * A new flow doubles its window each round trip and so fills the pipe sooner than periods would.
 * It is left alone until the group keeps more in queues than it should.
 */
TAKT_FN u32 takt_window_is_starting(const struct takt_window_params *params,
				    const struct takt_window_group *group,
				    const struct takt_window_sample *sample)
{
	u64 wait_us = takt_window_wait_us(params, group, sample);
	u64 rate = takt_max(group->rate, sample->rate);

	return sample->starting && takt_window_flight_q10(rate, wait_us, sample->mss_bytes) <=
					   takt_window_queue_q10(params, group, sample);
}

/*
 * Before the first bounds: the initial target, in 1/1024 segments, or 0: not yet. A flow whose own
 * device or application limits it needs none, unless it gets more than a quarter above its share
 * or has more to send while the group keeps too much in queues.
 */
TAKT_FN_OUT u64 takt_window_initial_q10(const struct takt_window_params *params TAKT_ARG,
					const struct takt_window_group *group TAKT_ARG,
					const struct takt_window_sample *sample TAKT_ARG)
{
	u64 window_q10 = takt_max(sample->window, 1) * TAKT_WINDOW_ONE_Q10;
	u64 flight_q10 = takt_window_flight_q10(sample->rate, sample->rtt_us, sample->mss_bytes);
	u64 share = takt_window_share(group, group->rate) / takt_max(sample->own_flows, 1);

	if (sample->limited)
		return takt_window_is_starting(params, group, sample) ? 0 : window_q10;
	if (takt_window_users(group) < 2)
		return 0;
	if (sample->rate <= share + share / 4 &&
	    (!sample->backlogged || takt_window_is_starting(params, group, sample)))
		return 0;
	return takt_clamp(flight_q10, TAKT_WINDOW_ONE_Q10, window_q10);
}

/*
 * Half a round trip of a flow in its first slow start is over; its shortest was stand_us. Slow
 * start doubles the window many times in a period, so it must not wait for the period's end: once
 * more than the flow's part stands in queues, the window is what the pipe holds, and that part.
 */
TAKT_FN_OUT int takt_window_begin(struct takt_window *flow TAKT_ARG,
				  const struct takt_window_params *params TAKT_ARG,
				  const struct takt_window_group *group TAKT_ARG,
				  const struct takt_window_sample *sample TAKT_ARG,
				  struct takt_window_bounds *bounds TAKT_ARG)
{
	u32 window_max = takt_clamp(params->window_max, TAKT_WINDOW_MIN, TAKT_WINDOW_MAX);
	u64 stand_us = takt_min(sample->stand_us, TAKT_WINDOW_RTT_MAX_US);
	u64 window_q10 = (u64)takt_min(sample->window, TAKT_WINDOW_MAX) * TAKT_WINDOW_ONE_Q10;
	u64 standing_q10 = takt_window_standing_q10(flow, params, group, sample);
	u64 wait_us, queued_q10;

	if (flow->target_q10 || group->competes_us)
		return 0;
	if (!sample->starting || !stand_us || !sample->rtt_min_us)
		return 0;
	wait_us = takt_min(takt_window_wait_us(params, group, sample), stand_us);
	queued_q10 = window_q10 * wait_us / stand_us;
	if (queued_q10 <= standing_q10)
		return 0;
	flow->calm_q10 = takt_max(flow->calm_q10, window_q10);
	flow->target_q10 = takt_clamp(window_q10 - queued_q10 + standing_q10,
				      TAKT_WINDOW_MIN * TAKT_WINDOW_ONE_Q10,
				      window_max * TAKT_WINDOW_ONE_Q10);
	bounds->lower = 0;
	bounds->upper = takt_window_round(flow, window_max);
	return 0;
}

/* What CUBIC's window grows by in a time without a loss (RFC 9438, section 4.2). */
TAKT_FN u64 takt_window_cubic_q10(u64 time_us)
{
	u64 ticks = takt_min(time_us / TAKT_WINDOW_TICK_US, TAKT_WINDOW_TICKS_MAX);

	return ticks * ticks * ticks / TAKT_WINDOW_CUBE_DIVISOR;
}

/*
 * Others fill the queue, so CUBIC has the flow. It had a bound while the others grew, so it begins
 * with what it would have had without: the window before they came, and what CUBIC's grows by. As
 * soon as something is lost, or the window does not limit it, it goes on by itself.
 */
TAKT_FN u32 takt_window_compete(struct takt_window *flow, const struct takt_window_group *group,
				const struct takt_window_sample *sample, u32 window_max)
{
	u64 most_q10 = window_max * TAKT_WINDOW_ONE_Q10;
	u64 shadow_q10 = takt_min(flow->calm_q10, most_q10) +
			 takt_window_cubic_q10(group->competes_us);

	flow->target_q10 = 0;
	if (!flow->competes)
		flow->competes = TAKT_WINDOW_COMPETES_BEHIND;
	else if (sample->lost || !sample->limited)
		flow->competes = TAKT_WINDOW_COMPETES;
	if (flow->competes == TAKT_WINDOW_COMPETES)
		return 0;
	return takt_min(shadow_q10, most_q10) / TAKT_WINDOW_ONE_Q10;
}

/*
 * A period is over: the flow's bounds for the next. A flow that its application holds back keeps
 * its target, which its window did not test, and needs no lower bound. Returns 0, as a global
 * function has to return something.
 */
TAKT_FN_OUT int takt_window_update(struct takt_window *flow TAKT_ARG,
				   const struct takt_window_params *params TAKT_ARG,
				   const struct takt_window_group *group TAKT_ARG,
				   const struct takt_window_sample *sample TAKT_ARG,
				   struct takt_window_bounds *bounds TAKT_ARG)
{
	u32 window_max = takt_clamp(params->window_max, TAKT_WINDOW_MIN, TAKT_WINDOW_MAX);
	u64 max_q10 = window_max * TAKT_WINDOW_ONE_Q10, target_q10, aim_q10, least;
	u32 measured = sample->rtt_us && sample->stand_us && sample->rtt_min_us && sample->rate;

	bounds->lower = 0;
	bounds->upper = window_max;
	if (sample->sent)
		flow->loss_q16 = (7 * takt_min(flow->loss_q16, 65536) +
				  (u64)takt_min(sample->lost, sample->sent) * 65536 /
					  sample->sent) / 8;
	if (group->competes_us) {
		bounds->lower = takt_window_compete(flow, group, sample, window_max);
		return 0;
	}
	/* It yields to see whether others still fill the queue; if so it has its window back. */
	if (flow->competes)
		flow->calm_q10 = takt_max(flow->calm_q10,
					  takt_min(sample->window, window_max) *
						  TAKT_WINDOW_ONE_Q10);
	flow->competes = 0;
	if (!flow->target_q10 && measured)
		flow->target_q10 = takt_window_initial_q10(params, group, sample);
	if (!flow->target_q10)
		return 0;
	target_q10 = flow->target_q10;
	if (measured && (sample->limited || sample->backlogged)) {
		aim_q10 = takt_window_aim_q10(flow, params, group, sample);
		/* Halfway, and never more than double or half. */
		aim_q10 = takt_clamp(aim_q10, 0, 3 * target_q10);
		target_q10 = (target_q10 + aim_q10 + 1) / 2;
	}
	least = takt_window_collides(group) ? 1 : TAKT_WINDOW_MIN;
	flow->target_q10 = takt_clamp(target_q10, least * TAKT_WINDOW_ONE_Q10, max_q10);
	flow->calm_q10 -= flow->calm_q10 / TAKT_WINDOW_CALM_DIVISOR;
	flow->calm_q10 = takt_max(flow->calm_q10, flow->target_q10);
	bounds->upper = takt_window_round(flow, window_max);
	if (!measured || !sample->limited)
		return 0;
	if ((u64)sample->lost * TAKT_WINDOW_LOSS_DIVISOR <= sample->sent)
		bounds->lower = bounds->upper;
	return 0;
}

/*
 * The congestion window within its bounds. After a timeout the lower bound does not apply: the
 * network may be gone, and slow start has to find out.
 */
TAKT_FN u32 takt_window_bound(const struct takt_window_bounds *bounds, u32 window,
			      u32 after_timeout)
{
	u32 upper = takt_max(bounds->upper, 1);
	u32 lower = after_timeout ? 0 : takt_min(bounds->lower, upper);

	return takt_clamp(window, lower, upper);
}

#endif
