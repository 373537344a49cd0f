/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a station's entity carries, mostly TCP or other packets, and its weight by that. (SoCPS,
 * section 6: the effect differs by kind of traffic, so choose by it.)
 *
 * A TCP connection that loses frames slows down. In a queue that all stations share it takes little
 * of the air then, and its share goes to the others. With a queue of its own its round trips are
 * short, and it is soon as fast as its share again. So TCP has less of a share than the station's
 * weight w, about what the shared queue leaves it:
 *
 *   TCP       w^4, at least 1/100, at most w	(1, and 0, stay what they are)
 *   others    w
 *
 * An entity is what its first packet is, until as many of the other kind have come, less those of
 * its own, as TAKT_KIND_PACKETS says. Of connections that are known by their sockets (connection
 * cache) the first packet counts alone.
 */
#ifndef TAKT_KIND_H
#define TAKT_KIND_H

#include "flow.h"
#include "tcp_header.h"

#define TAKT_KIND_PACKETS 32
#define TAKT_KIND_TCP_MIN_PPM 10000U

/* The first packet's protocol is this. */
TAKT_FN void takt_kind_begin(struct takt_flow *flow, u32 proto)
{
	flow->is_tcp = proto == TAKT_IPPROTO_TCP;
	flow->unlike = 0;
}

/* Another packet's is this. Returns whether the entity is of the other kind from now on. */
TAKT_FN int takt_kind_changes(struct takt_flow *flow, u32 proto)
{
	if (flow->is_tcp == (proto == TAKT_IPPROTO_TCP)) {
		if (flow->unlike)
			flow->unlike--;
		return 0;
	}
	if (++flow->unlike < TAKT_KIND_PACKETS)
		return 0;
	flow->is_tcp = !flow->is_tcp;
	flow->unlike = 0;
	return 1;
}

/* Its part of its class's weight, where its station's is weight_ppm. */
TAKT_FN u32 takt_kind_weight(const struct takt_flow *flow, u32 weight_ppm)
{
	u64 square_ppm = (u64)weight_ppm * weight_ppm / TAKT_SCALE_WHOLE;
	u32 tcp_ppm = square_ppm * square_ppm / TAKT_SCALE_WHOLE;

	if (!flow->is_tcp)
		return weight_ppm;
	return takt_min(weight_ppm, takt_max(tcp_ppm, TAKT_KIND_TCP_MIN_PPM));
}

#endif
