/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the receiving side of a download measures in a period, as the crowd's law (window.h) takes
 * it: by the host's own sockets, and by a host that forwards.
 */
#ifndef TAKT_DOWNLOAD_H
#define TAKT_DOWNLOAD_H

#include "window.h"

/* A period that ends later than this many measures nothing: taktd was gone. */
#define TAKT_DOWNLOAD_LATE_PERIODS 3U

/* Fewer segments in a period are an exchange of messages, whose round trips include thinking. */
#define TAKT_DOWNLOAD_SEGMENTS_MIN 8U

/* The least round trip is forgotten by 2^-shift of the difference in a period. */
#define TAKT_DOWNLOAD_FORGET_SHIFT 10

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
TAKT_FN void takt_download_sample(const struct takt_window *flow, u64 bytes, u64 passed_us,
				  struct takt_window_sample *sample)
{
	sample->rate = takt_min(bytes, TAKT_WINDOW_RATE_MAX) * 1000000 / takt_max(passed_us, 1);
	sample->window = takt_window_flight_q10(sample->rate, sample->rtt_us, sample->mss_bytes) /
			 TAKT_WINDOW_ONE_Q10;
	/* Without a bound it is in its first slow start, as far as the receiver can tell. */
	sample->starting = !flow->target_q10;
	sample->limited = 4ULL * TAKT_WINDOW_ONE_Q10 * sample->window >= 3 * flow->target_q10;
}

#endif
