/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the congestion control and user space agree on beyond algo/window.h. */
#ifndef TAKT_CROWD_MAPS_H
#define TAKT_CROWD_MAPS_H

#include "window.h"

/* The only element of the map takt_crowd. */
struct takt_crowd {
	struct takt_window_params params;
	struct takt_window_group group;	/* all zero: no neighbours */
	u64 period_ns;		/* 0: no bounds at all, plain CUBIC */
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
};

#endif
