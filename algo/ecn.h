/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Explicit congestion notification (RFC 3168): a packet whose sender understands it is marked
 * instead of dropped.
 *
 * The qdisc cannot write to a packet. So a mark is noted when a packet is sent, and the next packet
 * of the same flow that arrives carries it (bpf/mark). Marks are as many as they should be, and
 * late by the time for which that packet is queued.
 */
#ifndef TAKT_ECN_H
#define TAKT_ECN_H

#include "byteclock.h"

/* The codepoints of the IP header. */
#define TAKT_ECN_NOT 0U		/* its sender does not understand marks */
#define TAKT_ECN_ECT1 1U	/* an L4S sender (RFC 9331), which expects frequent ones */
#define TAKT_ECN_ECT0 2U
#define TAKT_ECN_CE 3U		/* marked already */

#define TAKT_ECN_STEP_NS 1000000ULL	/* of L4S marking (RFC 9332, section 2.5) ... */
#define TAKT_ECN_STEP_BYTES 3028U	/* ... and no less than two frames take */

/*
 * What a packet with this codepoint counts as. A mark hides which of the two it had before, so it
 * counts as its flow's last one: each packet of an L4S sender that is delayed has to cause a mark.
 */
TAKT_FN u32 takt_ecn_of_flow(u16 *l4s, u32 ecn)
{
	if (ecn == TAKT_ECN_ECT0 || ecn == TAKT_ECN_ECT1)
		*l4s = ecn == TAKT_ECN_ECT1;
	return ecn == TAKT_ECN_CE && *l4s ? TAKT_ECN_ECT1 : ecn;
}

/*
 * Is a packet to be marked that was queued for so long? `drops`: CoDel would drop it. Packets of
 * L4S senders are marked from a fixed delay on.
 */
TAKT_FN int takt_ecn_marks(u32 ecn, int drops, u64 sojourn_ns, u64 rate_bps)
{
	u64 frames_ns = TAKT_ECN_STEP_BYTES * TAKT_NS_PER_BYTE_AT_1BPS / (rate_bps | !rate_bps);

	if (ecn == TAKT_ECN_ECT1)
		return sojourn_ns >= takt_max(TAKT_ECN_STEP_NS, frames_ns);
	return drops;
}

#endif
