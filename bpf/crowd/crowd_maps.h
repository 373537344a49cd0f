/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The layouts that the congestion control shares with user space, beyond algo/window.h. */
#ifndef TAKT_CROWD_MAPS_H
#define TAKT_CROWD_MAPS_H

#include "window.h"

/* Raised whenever a struct that user space shares changes; pinned beside the maps. */
#define TAKT_CROWD_ABI 5

/*
 * Four maps, all with a network namespace's cookie as the key. Each is written by one side, so
 * no writer overwrites another's values; in the last, taktd and its own pass take turns.
 */

/* Of the map takt_crowd: the terms on which flows of the namespace are bounded. Written by takt. */
struct takt_crowd {
	struct takt_window_params params;
	u64 period_ns;		/* 0: no bounds at all, plain CUBIC */
	u32 ifindex;		/* flows that leave by this device have bounds */
	u32 generation;		/* of the policy; its record is in force */
};

/* Reports of a group older than this many periods do not apply: taktd no longer listens. */
#define TAKT_CROWD_STALE_PERIODS 3U

/* Of the map takt_crowd_groups: the sum of the group's reports. Written by taktd. */
struct takt_crowd_group {
	struct takt_window_group sum;
	u64 heard_ns;		/* when; 0: never */
	u32 own_flows;		/* flows on this terminal that their windows limit */
};

/*
 * Of the map takt_crowd_terminals: sums over the flows on the device, with one summand for each
 * flow and period. Written by the congestion control.
 */
struct takt_crowd_terminal {
	u64 delivered_bytes;
	u64 flow_periods;
	u64 limited_periods;	/* of these, those in which it used all it could get */
	u64 passed_us;		/* duration of both; idle time does not count */
	u64 limited_us;
	u64 rtt_sum_us;		/* means of these, of those with a round trip */
	u64 rtt_min_sum_us;
	u64 stand_sum_us;	/* standing round trips, of the same periods */
	u64 rtt_count;
	u64 sent, lost;		/* segments */
};

/*
 * Of the map takt_crowd_downloads: taktd writes it, and runs a pass over the sockets, and one over
 * what is forwarded.
 */
struct takt_crowd_downloads {
	struct takt_window_params params;
	struct takt_window_group group;
	u64 period_ns;
	u64 passed_ns;		/* when the passes ran */
	u32 ifindex;		/* sockets whose route leads there */
	u32 own_flows;		/* downloads that their windows limit */
	/* Results of the passes. */
	u64 received_rate;	/* of those that their windows limit, bytes per second */
	u32 flows;		/* their number */
	u32 bounded;		/* sockets that have a bound now */
	u32 forwarded;		/* connections of hosts behind this one whose window was cut */
	u32 pad;
};

/* A flow's state, as long as its socket lives. */
struct takt_crowd_flow {
	struct takt_window window;
	struct takt_window_bounds bounds;
	struct takt_round_trips trips;	/* of the period */
	u64 updated_ns;		/* of the bounds; 0: never */
	u64 period_ns;		/* of the terms that it follows; 0: there are none */
	u32 acks;		/* of the period */
	u32 backlogged_acks;	/* of these, with segments that wait for the window or the device */
	u32 delivered;		/* the socket's counts when the period began */
	u32 lost;
	u32 limited;		/* the window limited it in the period */
	u32 threshold;		/* CUBIC's own, of the last loss */
	u32 in_timeout;		/* recovering from one: only CUBIC applies */
	u32 ifindex;		/* the device that it leaves by; 0: not known yet */
};

#endif
