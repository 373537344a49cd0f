/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The layouts that the monitor of TCP flows shares with user space. Both are of one build, and
 * nothing is pinned, so there are no other versions.
 */
#ifndef TAKT_MONITOR_MAPS_H
#define TAKT_MONITOR_MAPS_H

#include "abi.h"
#include "names.h"

#define TAKT_MONITOR_EVENT_BYTES (1 << 20)
#define TAKT_MONITOR_CONGESTION_BYTES 16

/* What limits a flow. */
#define TAKT_MONITOR_FREE 0		/* nothing in TCP: its application */
#define TAKT_MONITOR_WINDOW 1		/* its congestion window is full */
#define TAKT_MONITOR_RECEIVER 2		/* the window that the receiver offers is */

#define TAKT_MONITOR_RETRANSMIT 0	/* count: segments */
#define TAKT_MONITOR_TIMEOUT 1
#define TAKT_MONITOR_STATE 2		/* from, to: TCP_CA_* */
#define TAKT_MONITOR_ECN_ECHO 3		/* count: own segments that were marked on the way */
#define TAKT_MONITOR_ECN_MARK 4		/* count: received packets that were */
#define TAKT_MONITOR_LIMIT 5		/* from, to: what limits it */

/* The two ends of a flow. */
struct takt_monitor_ends {
	u64 cookie;		/* the socket's; unique while the host runs */
	u32 local[4], remote[4];	/* network order; IPv4 in the first */
	u16 local_port, remote_port;	/* host order */
	u32 is_v6;
};

struct takt_monitor_sample {
	struct takt_monitor_ends ends;
	u64 at_ns;		/* CLOCK_MONOTONIC */
	u64 delivery_bytes_ps;	/* of the last measurement */
	u64 acked_bytes, received_bytes;
	u32 cwnd, ssthresh, in_flight;	/* segments */
	u32 mss_bytes;
	u32 rtt_us, rtt_var_us;	/* smoothed */
	u32 rtt_min_us;		/* ~0: none yet */
	u32 send_queue_bytes;	/* written and not acknowledged */
	u32 unsent_bytes;	/* of these, not yet sent */
	u32 send_memory_bytes;
	u32 receive_queue_bytes;
	u32 peer_window_bytes, own_window_bytes;
	u32 delivered, lost, retransmitted;	/* segments in total */
	u32 timeouts;
	u32 ecn_echoes;		/* of delivered: those marked */
	u32 ecn_marks;		/* marked packets received, while watched */
	u32 lower, upper;	/* bounds of the window; upper 0: none */
	u32 tgid;		/* of a process that holds it; 0: unknown */
	u8 state;		/* TCP_* */
	u8 congestion_state;	/* TCP_CA_* */
	u8 limit;		/* TAKT_MONITOR_FREE … */
	u8 is_app_limited;	/* the application limited the delivery rate */
	u32 pad;
	char application[TAKT_COMM_BYTES];
	char congestion[TAKT_MONITOR_CONGESTION_BYTES];
};

struct takt_monitor_event {
	struct takt_monitor_ends ends;
	u64 at_ns;
	u32 kind;		/* TAKT_MONITOR_RETRANSMIT … */
	u32 count;
	u32 cwnd, ssthresh, in_flight;	/* when it happened */
	u16 from, to;
};

#endif
