/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A link's state, and how an empty one is laid out. */
#ifndef TAKT_LINK_STATE_H
#define TAKT_LINK_STATE_H

#include "connection_cache.h"
#include "flow_table.h"

/* What was chosen: a class or flow, and the tenant above it, if there is one. */
struct takt_path {
	struct takt_pick leaf, above;
	u32 id, tenant;
	u32 source;	/* whose packet leaves in its turn: itself, or whom it pulls from */
	u32 pad;
};

struct takt_link {
	struct takt_clock clock;
	u32 queued_packets;	/* without the one in the express place */
	u32 express_id;		/* of the packet that took the express place last */
	u32 express_len;
	u32 generation;		/* the plan that packets were queued by last */
	u32 era;		/* counts changes of plan or registrations, as packets met them */
	u32 old_packets;	/* still queued from before this era */
	u32 plan_era;		/* the era that the plan came with */
	u32 old_plan_packets;	/* still queued from before that one */
	u64 registered_ns;	/* the latest registration that a packet met ... */
	u64 settled_ns;		/* ... and the latest before which nothing is queued any more */
	/* Whom this state belongs to; the qdisc refuses any other device. */
	u32 ifindex;
	u32 gone;		/* the device was unregistered */
	u32 attached;		/* the qdisc was, at least once */
	u32 flush_hand;		/* whom a flush looks at next */
	u32 planned;		/* the plan that elements wait by ... */
	u32 plan_hand;		/* ... up to this one; from here on by an older one */
	u64 netns_cookie;
	u64 wake_ns;		/* when the timer looks again; 0: unknown */
	u32 next_id;		/* whom it is set for, if that is as good as chosen */
	u32 polls;		/* only those whom the gate holds are there to wake for */
	u64 secret;		/* nobody outside can tell which flows share a number */
	struct takt_path path;	/* of the choice under way; a BPF stack is small */
	struct takt_frame frame;	/* likewise */
	struct takt_connections connections;
	struct takt_flows flows;
	struct takt_order order;
};

/* An empty calendar of so many buckets, on the next free part of the shelf. */
TAKT_FN void takt_calendar_lay_out(struct takt_calendar *calendar, u32 buckets, u32 shift,
				   u32 *first)
{
	calendar->first = *first;
	calendar->mask = buckets - 1;
	calendar->shift = shift;
	*first += buckets;
}

/*
 * Lay out an all-zero link. The link itself gets fine calendars that see a
 * second ahead; tenants, of which there may be many, coarse ones.
 */
TAKT_FN void takt_link_lay_out(struct takt_link *link)
{
	u32 first = 0, i, j;

	for (i = 0; i < TAKT_GROUPS; i++) {
		struct takt_group *group = &link->order.group[i];

		for (j = 0; j < TAKT_PRIORITIES; j++) {
			takt_calendar_lay_out(&group->timed[j], i ? 256 : 16384, i ? 18 : 16,
					      &first);
			takt_calendar_lay_out(&group->share[j], i ? 128 : 4096, i ? 18 : 16,
					      &first);
		}
		takt_calendar_lay_out(&group->floors, i ? 64 : 4096, i ? 20 : 18, &first);
	}
	takt_calendar_lay_out(&link->order.held.by_task, TAKT_HELD_BUCKETS, 0, &first);
}

#endif
