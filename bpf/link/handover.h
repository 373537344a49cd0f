/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What programs before a qdisc find out about a packet and pass to it. It travels in the packet's
 * control block, where programs on a device's ingress and egress may keep data (qdisc_skb_cb.data).
 * The kernel leaves it unchanged from there to the qdisc.
 *
 * bpf/receive passes what it knows of an incoming packet to the qdisc of the device that it sends
 * it through, bpf/inside to that of a download the host that a packet is for, and bpf/dscp to that
 * of its device the DSCP that a packet came with.
 */
#ifndef TAKT_HANDOVER_H
#define TAKT_HANDOVER_H

#include "abi.h"

/* A packet without it was not sent by bpf/receive. */
#define TAKT_HANDOVER_MARK 0x54614b74

/* Likewise of bpf/inside, on the egress of a download's device. */
#define TAKT_INSIDE_MARK 0x54614b75
/* Above the DSCP of a packet that bpf/dscp has seen. */
#define TAKT_CAME_WITH 0x54614400

struct takt_handover {
	u32 mark;
	u32 class_id;
	u32 task_prio;	/* of the receiving task, see gate.h */
	u32 came_with;	/* TAKT_CAME_WITH and a DSCP */
};

struct takt_inside {
	u32 mark;
	u32 host[2];	/* the number of the receiver behind NAT */
	u32 came_with;	/* as above */
};

#endif
