/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A link's state, and the layout of an empty one. */
#ifndef TAKT_LINK_STATE_H
#define TAKT_LINK_STATE_H

#include "connection_cache.h"
#include "departure.h"
#include "flow_table.h"
#include "line_rate.h"
#include "thin.h"
#include "uploads.h"

/* The choice: a class or flow, and the tenant above it, if there is one. */
struct takt_path {
	struct takt_pick leaf, above;
	u32 id, tenant;
	u32 source;	/* entity whose packet leaves: its own, or the one it pulls from */
	u32 pad;
};

/* What short ways need of the plan; copied, since that is far from the state. */
struct takt_link_terms {
	u64 rate_bps;
	u64 lag_max_ns;
	struct takt_framing framing;
	u32 slack_ns;
	u32 changes;	/* the line's rate may be another at any time */
	u32 pad;
};

struct takt_link {
	struct takt_clock clock;
	u32 short_in;		/* the configuration whose packets go short ways, as connections are
				 * known_in; 0: none do */
	u32 fast_id;		/* entity of the last packet on the fast path */
	u32 fast_len;
	u32 queued_packets;	/* without the one on the fast path */
	struct takt_link_terms terms;
	struct takt_line_rate line;	/* beside the plan's */
	u32 plan_generation;	/* of the plan that packets were queued by last */
	u32 generation;		/* counts configurations: changes of plan or registrations */
	u32 old_packets;	/* still queued from earlier configurations */
	u32 plan_since;		/* the generation that the plan came with */
	u32 old_plan_packets;	/* still queued from before that one */
	u64 registered_ns;	/* the latest registration, as packets saw it ... */
	u64 settled_ns;		/* ... and the latest before which nothing is queued */
	/* The device that this state belongs to; the qdisc refuses any other. */
	u32 ifindex;
	u32 gone;		/* the device was unregistered */
	u32 was_attached;	/* the qdisc was the device's root at least once */
	u32 flush_hand;		/* the next entity to flush */
	u32 queued_generation;	/* the plan's that entities are queued by ... */
	u32 plan_hand;		/* ... below this entity; from here on by an older one */
	u64 netns_cookie;
	u64 taken_ns;		/* when the device took a packet with more queued; see pushback.h */
	u64 wake_ns;		/* when the timer looks again; 0: unknown */
	u32 next_id;		/* entity that it is set for, if the choice is certain */
	u32 foreseen;		/* likewise, and all that wait are in its calendar as long as
				 * wake_ns stands */
	u32 polls;		/* the timer is set only for blocked entities */
	u32 pad;
	u64 secret;		/* hides from outside which flows share a number */
	struct takt_path path;	/* of the current choice; a BPF stack is small */
	struct takt_frame frame;	/* likewise */
	struct takt_order order;
	struct takt_connections connections;
	struct takt_acks acks;
	struct takt_uploads uploads;
	struct takt_flows flows;
	struct takt_departures departures;
};

/* An empty calendar with this many buckets, on the next free part of the shelf. */
TAKT_FN void takt_calendar_lay_out(struct takt_calendar *calendar, u32 buckets, u32 shift,
				   u32 *first)
{
	calendar->first = *first;
	calendar->mask = buckets - 1;
	calendar->shift = shift;
	*first += buckets;
}

/*
 * Lay out an all-zero link. The link's root gets fine calendars that reach a second ahead;
 * tenants, which may be many, get coarse ones.
 */
TAKT_FN void takt_link_lay_out(struct takt_link *link)
{
	u32 first = 0, i, j;

	for (i = 0; i < TAKT_NODES; i++) {
		struct takt_node *node = &link->order.node[i];

		for (j = 0; j < TAKT_PRIORITIES; j++) {
			takt_calendar_lay_out(&node->timed[j], i ? 256 : 16384, i ? 18 : 16,
					      &first);
			takt_calendar_lay_out(&node->share[j], i ? 128 : 4096, i ? 18 : 16,
					      &first);
		}
		takt_calendar_lay_out(&node->floors, i ? 64 : 4096, i ? 20 : 18, &first);
		takt_calendar_lay_out(&node->ready, i ? 64 : 1024, 20, &first);
	}
	takt_calendar_lay_out(&link->order.blocked.by_task, TAKT_BLOCKED_BUCKETS, 0, &first);
}

#endif
