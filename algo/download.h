/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A bound on what one socket receives: the law of window.h, with what a receiver can measure. Its
 * sender keeps to the window that the receiver advertises, so only the upper bound applies. A host
 * that forwards measures the same of what passes: forwarded.h.
 */
#ifndef TAKT_DOWNLOAD_H
#define TAKT_DOWNLOAD_H

#include "window.h"

/* A pass that comes later than this many periods measures nothing: taktd was gone. */
#define TAKT_DOWNLOAD_LATE_PERIODS 3

/* Fewer segments in a period are an exchange of messages, whose round trips include thinking. */
#define TAKT_DOWNLOAD_SEGMENTS_MIN 8

/* The clock of timestamps ticks so often: a shorter wait is not seen. */
#define TAKT_DOWNLOAD_TICK_US 1000

/* The least round trip is forgotten by 2^-shift of the difference in a period. */
#define TAKT_DOWNLOAD_FORGET_SHIFT 10

/* A receiving socket's state, as long as the socket lives. */
struct takt_download {
	struct takt_window window;
	u64 updated_ns;		/* 0: never */
	u64 received_bytes;	/* the socket's count then */
	u32 least_us;		/* 0: none was measured */
	u32 before;		/* the clamp of the kernel or of the application */
	u32 clamp;		/* set here; 0: none */
};

/* What the socket says at the end of a period. */
struct takt_download_sample {
	u64 now_ns;
	u64 period_ns;		/* how often there is a pass */
	u64 received_bytes;	/* so far */
	u32 rtt_us;		/* smoothed; 0: the receiver has measured none */
	u32 handshake_us;	/* the round trip of the handshake; 0: unknown */
	u32 mss_bytes;
	u32 own_flows;		/* downloads of this terminal that their windows limit */
};

/* A route may become longer: the least round trip slowly approaches the present one. */
TAKT_FN void takt_download_least(u32 *least_us, u32 rtt_us)
{
	if (!*least_us || rtt_us < *least_us)
		*least_us = rtt_us;
	else
		*least_us += (rtt_us - *least_us) >> TAKT_DOWNLOAD_FORGET_SHIFT;
}

/*
 * So many bytes arrived in passed_us. The window is what was in flight, since the receiver does
 * not know the sender's. Precondition: the sample has round trips and the segment size.
 */
TAKT_FN void takt_download_arrived(const struct takt_window *flow, u64 bytes, u64 passed_us,
				   struct takt_window_sample *sample)
{
	sample->rate = takt_min(bytes, TAKT_WINDOW_RATE_MAX) * 1000000 / takt_max(passed_us, 1);
	sample->window = takt_window_flight_q10(sample->rate, sample->rtt_us, sample->mss_bytes) /
			 TAKT_WINDOW_ONE_Q10;
	/* Without a bound it is in its first slow start, as far as the receiver can tell. */
	sample->starting = !flow->target_q10;
	sample->limited = 4ULL * TAKT_WINDOW_ONE_Q10 * sample->window >= 3 * flow->target_q10;
}

/*
 * A receiver has one smoothed round trip for a period, and no shortest of each half of one. As it
 * only measures while the window is in use, what exceeds the least by more than a tick is wait.
 */
TAKT_FN void takt_download_measure(struct takt_download *flow,
				   const struct takt_download_sample *now,
				   struct takt_window_sample *sample)
{
	u64 passed_ns = now->now_ns - flow->updated_ns;
	u64 received = now->received_bytes - flow->received_bytes;
	u32 rtt_us = now->rtt_us;

	sample->mss_bytes = takt_max(now->mss_bytes, 1);
	sample->own_flows = now->own_flows;
	if (!rtt_us || passed_ns > TAKT_DOWNLOAD_LATE_PERIODS * now->period_ns ||
	    received < TAKT_DOWNLOAD_SEGMENTS_MIN * sample->mss_bytes)
		return;
	takt_download_least(&flow->least_us, rtt_us);
	sample->rtt_us = rtt_us;
	sample->rtt_min_us = flow->least_us;
	sample->stand_us =
		takt_max(rtt_us - takt_min(rtt_us, TAKT_DOWNLOAD_TICK_US), flow->least_us);
	takt_download_arrived(&flow->window, received, passed_ns / 1000, sample);
}

/*
 * A period is over. Returns the most that the socket should advertise, in bytes; `sample`, empty
 * before, then has what was measured.
 */
TAKT_FN u64 takt_download_update(struct takt_download *flow,
				 const struct takt_window_params *params,
				 const struct takt_window_group *group,
				 const struct takt_download_sample *now,
				 struct takt_window_sample *sample)
{
	struct takt_window_bounds bounds = {};

	/* The handshake's round trip is the first: no queue of the download's is in it. */
	if (!flow->updated_ns)
		flow->least_us = now->handshake_us;
	takt_download_measure(flow, now, sample);
	flow->updated_ns = now->now_ns;
	flow->received_bytes = now->received_bytes;
	takt_window_update(&flow->window, params, group, sample, &bounds);
	return (u64)bounds.upper * sample->mss_bytes;
}

/* Whether its window limited the download in the period. */
TAKT_FN u32 takt_download_counts(const struct takt_window_sample *sample)
{
	return sample->rate && sample->limited;
}

/*
 * What the clamp should be, which is this now. What is smaller already stays as it is. The clamp
 * changes without us, too: the kernel raises it with the buffer, and an application may set it.
 * Then that is what it goes back to.
 */
TAKT_FN u32 takt_download_clamp(struct takt_download *flow, u32 clamp, u64 bytes)
{
	if (!flow->clamp || clamp != flow->clamp)
		flow->before = clamp;
	return takt_min(bytes, flow->before);
}

/* It was set, and is this now: the kernel has a minimum of its own. */
TAKT_FN void takt_download_clamped(struct takt_download *flow, u32 wanted, u32 clamp)
{
	flow->clamp = wanted < flow->before ? clamp : 0;
}

#endif
