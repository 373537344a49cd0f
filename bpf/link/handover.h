/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What bpf/receive finds out about an incoming packet and passes to the qdisc of the device that
 * it sends it through. It travels in the packet's control block, where programs on a device's
 * ingress may keep data (qdisc_skb_cb.data). The kernel leaves it unchanged from there to the
 * qdisc.
 */
#ifndef TAKT_HANDOVER_H
#define TAKT_HANDOVER_H

#include "abi.h"

/* A packet without it was not sent by bpf/receive. */
#define TAKT_HANDOVER_MARK 0x54614b74

struct takt_handover {
	u32 mark;
	u32 class_id;
	u32 task_prio;	/* of the receiving task, see gate.h */
};

#endif
