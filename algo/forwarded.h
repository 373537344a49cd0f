/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A download that a terminal forwards to a host behind it: the window that the host behind
 * advertises is cut on its way out to an upper bound of the crowd's law. See docs/adr/0031.
 *
 * Round trips have two parts, both by TCP's timestamps: over the air to the server and back, and to
 * the host behind and back. The queue that the law bounds is in the first, so a wait counts only
 * there; the window has to cover both.
 */
#ifndef TAKT_FORWARDED_H
#define TAKT_FORWARDED_H

#include "download.h"
#include "segment.h"

/* Without an option (RFC 9293, section 3.7.1). */
#define TAKT_MSS_DEFAULT 536
/* RFC 7323, section 2.3. */
#define TAKT_WINDOW_SCALE_MAX 14U
/* Fewer segments than these are never left. */
#define TAKT_FORWARDED_SEGMENTS_MIN 2U
/* A bound counts for so many periods: then taktd is gone. */
#define TAKT_FORWARDED_STALE_PERIODS 3U

/* Round trips from here to one side and back, one at a time. */
struct takt_echoes {
	u64 since_ns;		/* when `awaited` passed; 0: none is awaited */
	u64 sum_us;		/* of the period */
	u32 count;
	u32 shortest_us;	/* of the period; 0: none yet */
	u32 least_us;		/* of all; 0: none yet */
	u32 awaited;
	u32 last;		/* the last timestamp that passed */
	u32 pad;
};

struct takt_forwarded {
	struct takt_window window;
	struct takt_echoes air, behind;
	u64 bytes;		/* of data that passed */
	u64 passed_bytes;	/* of them, until the last pass */
	u64 updated_bytes;	/* and until the last measurement */
	u64 passed_ns;
	u64 updated_ns;
	u64 bound_bytes;	/* 0: there is none, not even an old one */
	u64 until_ns;		/* the bound counts */
	u32 edge;		/* the last byte that the server was allowed to send */
	u32 acked;		/* the last byte that was acknowledged */
	u16 mss_bytes;
	u8 scale;
	u8 has_edge;
	u8 ended;		/* bit: in this direction */
	u8 is_cut;		/* since the last pass, by the bound */
	u8 pad[2];
};

/*
 * The clocks of timestamps tick once in a millisecond or less often. The first packet of a tick is
 * the one whose echo tells the round trip.
 */
TAKT_FN void takt_echoes_sent(struct takt_echoes *echoes, u32 stamp, u64 now_ns)
{
	if (stamp == echoes->last)
		return;
	echoes->last = stamp;
	if (echoes->since_ns)
		return;
	echoes->awaited = stamp;
	echoes->since_ns = now_ns;
}

/* An echo came; `counts`: with what a sender that has data sends at once. */
TAKT_FN void takt_echoes_back(struct takt_echoes *echoes, u32 echo, u32 counts, u64 now_ns)
{
	u32 rtt_us = takt_clamp((now_ns - echoes->since_ns) / 1000, 1, TAKT_WINDOW_RTT_MAX_US);

	if (!echoes->since_ns || takt_seq_before(echo, echoes->awaited))
		return;
	echoes->since_ns = 0;
	if (!counts)
		return;
	echoes->sum_us += rtt_us;
	echoes->count++;
	if (!echoes->shortest_us || rtt_us < echoes->shortest_us)
		echoes->shortest_us = rtt_us;
	if (!echoes->least_us || rtt_us < echoes->least_us)
		echoes->least_us = rtt_us;
}

TAKT_FN void takt_echoes_forget(struct takt_echoes *echoes)
{
	echoes->sum_us = 0;
	echoes->count = 0;
	echoes->shortest_us = 0;
}

TAKT_FN u32 takt_echoes_mean_us(const struct takt_echoes *echoes)
{
	return echoes->sum_us / takt_max(echoes->count, 1);
}

/*
 * The host behind opens or accepts a connection. Returns whether it may have bounds: a signed
 * header cannot be changed, and without timestamps there are no round trips. Precondition: all is
 * zero.
 */
TAKT_FN int takt_forwarded_begin(struct takt_forwarded *flow, const struct takt_segment *segment,
				 u64 now_ns)
{
	if (segment->is_signed || !segment->has_stamps)
		return 0;
	flow->mss_bytes = segment->mss_bytes ? segment->mss_bytes : TAKT_MSS_DEFAULT;
	if (segment->has_scale)
		flow->scale = takt_min(segment->scale, TAKT_WINDOW_SCALE_MAX);
	takt_echoes_sent(&flow->air, segment->stamp, now_ns);
	return 1;
}

/* A segment came over the air. */
TAKT_FN void takt_forwarded_in(struct takt_forwarded *flow, const struct takt_segment *segment,
			       u64 now_ns)
{
	u32 opens = segment->flags & TAKT_TCP_SYN;

	/* Both ends scale their windows, or none does. */
	if (opens && !segment->has_scale)
		flow->scale = 0;
	flow->bytes += segment->bytes;
	if (!segment->has_stamps)
		return;
	takt_echoes_back(&flow->air, segment->echo, opens || 2 * segment->bytes >= flow->mss_bytes,
			 now_ns);
	if (opens || segment->bytes)
		takt_echoes_sent(&flow->behind, segment->stamp, now_ns);
}

/*
 * What the server may be allowed from `ack` on. A bound that is too old opens with what is
 * acknowledged, as slow start does: what was allowed cannot be taken back, and taktd may only be
 * late.
 */
TAKT_FN u64 takt_forwarded_allowed(const struct takt_forwarded *flow, u32 ack, u64 now_ns)
{
	u64 rest = 0, acked = 0;

	if (flow->has_edge) {
		rest = takt_seq_before(ack, flow->edge) ? flow->edge - ack : 0;
		acked = takt_seq_before(flow->acked, ack) ? ack - flow->acked : 0;
	}
	if (now_ns >= flow->until_ns)
		rest += 2 * acked;
	return takt_max(flow->bound_bytes, rest);
}

/*
 * A segment leaves over the air. Returns the window for its header: no larger than it is, and not
 * so small that it would take back what the server was allowed.
 */
TAKT_FN u32 takt_forwarded_out(struct takt_forwarded *flow, const struct takt_segment *segment,
			       u64 now_ns)
{
	u32 scale = takt_min(flow->scale, TAKT_WINDOW_SCALE_MAX), window = segment->window, edge;
	u64 allowed;

	if (segment->has_stamps) {
		takt_echoes_back(&flow->behind, segment->echo, 1, now_ns);
		takt_echoes_sent(&flow->air, segment->stamp, now_ns);
	}
	if (!(segment->flags & TAKT_TCP_ACK) || segment->flags & (TAKT_TCP_SYN | TAKT_TCP_RST))
		return window;
	if (flow->bound_bytes) {
		allowed = takt_forwarded_allowed(flow, segment->ack, now_ns);
		allowed = (takt_min(allowed, 1U << 31) + (1U << scale) - 1) >> scale;
		if (allowed < window) {
			window = allowed;
			flow->is_cut = 1;
		} else if (now_ns >= flow->until_ns) {
			flow->bound_bytes = 0;
		}
	}
	edge = segment->ack + (window << scale);
	if (!flow->has_edge || takt_seq_before(flow->edge, edge))
		flow->edge = edge;
	if (!flow->has_edge || takt_seq_before(flow->acked, segment->ack))
		flow->acked = segment->ack;
	flow->has_edge = 1;
	return window;
}

/* Whether the connection is over, with this segment in one direction (0 or 1). */
TAKT_FN int takt_forwarded_ends(struct takt_forwarded *flow, const struct takt_segment *segment,
				u32 direction)
{
	if (segment->flags & TAKT_TCP_RST)
		return 1;
	if (segment->flags & TAKT_TCP_FIN)
		flow->ended |= 1 << (direction & 1);
	return flow->ended == 3;
}

/* The measurements of what has passed since the last ones, if they are enough. */
TAKT_FN void takt_forwarded_measure(struct takt_forwarded *flow, u64 period_ns, u64 now_ns,
				    struct takt_window_sample *sample)
{
	u64 bytes = flow->bytes - flow->updated_bytes, passed_ns = now_ns - flow->updated_ns;
	u32 is_late = now_ns - flow->passed_ns > TAKT_DOWNLOAD_LATE_PERIODS * period_ns;
	u32 is_idle = flow->bytes == flow->passed_bytes, behind_us;

	flow->passed_ns = now_ns;
	flow->passed_bytes = flow->bytes;
	/* What comes after a pause tells how long it was. */
	if (is_idle)
		flow->air.since_ns = flow->behind.since_ns = 0;
	/* A round trip may be longer than a period. */
	if (!is_late && !is_idle && !(flow->air.count && flow->behind.count))
		return;
	if (!is_late && bytes >= TAKT_DOWNLOAD_SEGMENTS_MIN * sample->mss_bytes &&
	    flow->air.count && flow->behind.count) {
		behind_us = takt_echoes_mean_us(&flow->behind);
		takt_download_least(&flow->air.least_us, flow->air.shortest_us);
		sample->rtt_us = takt_echoes_mean_us(&flow->air) + behind_us;
		/* A queue that empties in between does not stand. */
		sample->stand_us = flow->air.shortest_us + behind_us;
		sample->rtt_min_us = flow->air.least_us + behind_us;
		takt_download_arrived(&flow->window, bytes, passed_ns / 1000, sample);
	}
	takt_echoes_forget(&flow->air);
	takt_echoes_forget(&flow->behind);
	flow->updated_ns = now_ns;
	flow->updated_bytes = flow->bytes;
}

/*
 * A period is over: the bound for the next. The sample says what was measured, and whether it was
 * limited. Returns whether a window was cut in the period.
 */
TAKT_FN int takt_forwarded_update(struct takt_forwarded *flow,
				  const struct takt_window_params *params,
				  const struct takt_window_group *group, u64 period_ns,
				  u64 now_ns, struct takt_window_sample *sample)
{
	struct takt_window_bounds bounds = {};
	int is_cut = flow->is_cut;

	sample->mss_bytes = takt_max(flow->mss_bytes, 1);
	takt_forwarded_measure(flow, period_ns, now_ns, sample);
	takt_window_update(&flow->window, params, group, sample, &bounds);
	flow->is_cut = 0;
	flow->bound_bytes = (u64)takt_max(bounds.upper, TAKT_FORWARDED_SEGMENTS_MIN) *
			    sample->mss_bytes;
	flow->until_ns = now_ns + TAKT_FORWARDED_STALE_PERIODS * period_ns;
	return is_cut;
}

#endif
