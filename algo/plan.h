/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The plan: what a policy says about one link, as the scheduler reads it. The planner fills it
 * in; it is replaced as a whole and never edited.
 *
 * Entities are classes, tenants (nodes of classes that share one guarantee and one ceiling),
 * flows of a class that gives each flow clocks of its own, and stations in a class (station.h).
 * Classes and tenants have parameters here; a flow or a station uses its class's.
 */
#ifndef TAKT_PLAN_H
#define TAKT_PLAN_H

#include "abi.h"
#include "byteclock.h"
#include "classify.h"
#include "framing.h"

#define TAKT_PRIORITIES 8	/* 0 goes first */
#define TAKT_BACKGROUND (TAKT_PRIORITIES - 1)
#define TAKT_NODES 64		/* nodes: 0 is the root, 1..63 are tenants */

#define TAKT_PACING_TIMER 0	/* frames wait for the qdisc's timer */
#define TAKT_PACING_GAP 1	/* PAUSE frames fill the time between them */
#define TAKT_PACING_TIMER_GAP 2	/* the timer comes early, and PAUSE frames fill the rest */

#define TAKT_READS_ECN 1	/* packets are marked instead of dropped, see ecn.h */
#define TAKT_READS_ACKS 2	/* pure acknowledgements are thinned, see thin.h */

#define TAKT_PER_FLOW_NOTHING 0
#define TAKT_PER_FLOW_CLOCKS 1	/* clocks and a queue: the class's parameters are each flow's */
#define TAKT_PER_FLOW_QUEUE 2	/* a queue: flows take turns within the class, see flow_queue.h */

/* Which addresses of a packet are those of hosts that share a class, see host.h. */
#define TAKT_HOSTS_NONE 0
#define TAKT_HOSTS_SOURCES 1
#define TAKT_HOSTS_DESTINATIONS 2

/* A share's clock runs at this rate for each unit of weight. */
#define TAKT_WEIGHT_UNIT_BPS 1000000ULL

struct takt_class_params {
	u64 rate_bps;	/* guaranteed; 0: none */
	u64 ceil_bps;	/* the pace, at least rate_bps; 0: only the link's limits it */
	u64 weight_bps;	/* share of spare capacity, as a clock's rate; never 0 */
	u64 floor_bps;	/* served before all priorities; 0: no floor */
	u32 target_ns;	/* of a standing queue's delay, see codel.h; 0: not managed */
	u32 interval_ns; /* an acceptable round trip, likewise */
	u32 burst_bytes; /* longer packets of several frames are counted */
	u16 queue_packets; /* a packet beyond this is dropped; of each flow if it has clocks */
	u8 gated;	/* 1: blocked by more important tasks, see gate.h */
	u8 receive;	/* 1: so are its incoming packets */
	u8 priority;
	u8 per_flow;	/* TAKT_PER_FLOW_*: what each flow has of its own */
	u8 node;	/* of a class: its node */
	u8 heads;	/* of a tenant: its node; 0: this is a class */
	u8 spares_local; /* 1: only forwarded packets are managed */
	u8 pad[11];	/* plans are compared byte by byte: nothing is left to the compiler */
} __attribute__((aligned(TAKT_CACHE_LINE)));

struct takt_plan {
	u64 generation;		/* counts the policies applied */
	struct takt_clock_params link;
	struct takt_framing framing;	/* what the line carries of a packet */
	u32 pacing;		/* TAKT_PACING_* */
	u32 who_slot;		/* which of a socket's two answers counts */
	u32 flows;		/* some class tells flows apart */
	u32 sticky;		/* all packets of a connection fall into one class */
	u32 registered;		/* bit of takt_key.who for registered traffic; 0: no rule asks */
	u32 gated;		/* some class is gated */
	u32 receives;		/* incoming packets are sent through this device */
	u32 receive_link;	/* the number of that device's link, and ... */
	u32 receive_ifindex;	/* ... the device; 0: incoming packets go straight on */
	u32 stations;		/* TAKT_STATIONS_*: what it knows stations by */
	u32 reads;		/* TAKT_READS_*: what it does by more of a packet's headers */
	u32 fast_by_connection;	/* what is known of a connection tells whether its packets may take
				 * the fast path; see bpf/link/known.h */
	u32 horizon_caps;	/* 1: a departure time beyond the horizon becomes its end */
	u64 horizon_ns;		/* a packet's departure time is no further ahead */
	u16 tenant[TAKT_NODES];		/* the id of each node's tenant; 0: no such node */
	/* Of a line that changes; else 0. User space keeps to them, see line_rate.h. */
	u64 line_min_bps;
	u64 line_max_bps;
	u32 hosts;	/* TAKT_HOSTS_*: which addresses are of hosts that share, see host.h */
	u32 incoming;	/* 1: of what a device receives. No socket of this host sends its packets,
			 * and those that are dropped have used the line */
	u32 by_device;	/* 1: the link has no rate but what the device takes, see pushback.h; the
			 * clock's is the highest there is then, and limits nothing */
	u32 slack_ns;	/* how late the timer may be: packets due within it leave together */
	u32 station_burst_bytes; /* of one station, one after another, see burst.h; 0: a frame */
	u8 pad[60];
	struct takt_class_params class_params[TAKT_CLASSES];
	struct takt_rules rules;
};

/* Do PAUSE frames fill gaps, some or all of them? */
TAKT_FN int takt_fills_gaps(const struct takt_plan *plan)
{
	return plan->pacing != TAKT_PACING_TIMER;
}

#endif
