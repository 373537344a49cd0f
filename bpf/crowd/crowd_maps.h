/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the congestion control and user space agree on beyond algo/window.h. */
#ifndef TAKT_CROWD_MAPS_H
#define TAKT_CROWD_MAPS_H

#include "window.h"

/*
 * Three maps, each written by one side and all with a network namespace's cookie as the key,
 * so that nobody overwrites what another has just said.
 */

/* Of the map takt_crowd: on which terms flows of the namespace are bounded. By takt. */
struct takt_crowd {
	struct takt_window_params params;
	u64 period_ns;		/* 0: no bounds at all, plain CUBIC */
	u32 ifindex;		/* flows that leave by this device have bounds */
	u32 generation;		/* of the policy: what is noted of it is in force */
};

/* What was heard of a group so many periods ago is nothing any more: who listens is gone. */
#define TAKT_CROWD_STALE_PERIODS 3U

/* Of the map takt_crowd_groups: what was heard of its group. By taktd. */
struct takt_crowd_group {
	struct takt_window_group sum;
	u64 heard_ns;		/* when; 0: never */
	u32 own_flows;		/* that their windows hold back, on this terminal */
};

/*
 * Of the map takt_crowd_terminals: what flows on the device have come to, one summand for
 * each flow and period. By the congestion control.
 */
struct takt_crowd_terminal {
	u64 delivered_bytes;
	u64 flow_periods;
	u64 limited_periods;	/* of these, with a window that held the flow back */
	u64 passed_us;		/* how long both of these took; what was idle does not count */
	u64 limited_us;
	u64 rtt_sum_us;		/* of these with a round trip, the means */
	u64 rtt_min_sum_us;
	u64 rtt_count;
	u64 sent, lost;		/* segments */
};

/* A flow's, as long as its socket lives. */
struct takt_crowd_flow {
	struct takt_window window;
	struct takt_window_bounds bounds;
	u64 updated_ns;		/* when the bounds were; 0: never */
	u64 rtt_sum_us;		/* of the period */
	u32 rtt_count;
	u32 delivered;		/* the socket's counts when it began */
	u32 lost;
	u32 limited;		/* whether the window held it back in the period */
	u32 threshold;		/* CUBIC's own, of the last loss */
	u32 in_timeout;		/* recovering from one: CUBIC is left to itself */
	u32 ifindex;		/* the device that it leaves by; 0: not known yet */
};

#endif
