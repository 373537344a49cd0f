/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The layouts that the qdisc shares with user space, beyond algo/link.h. */
#ifndef TAKT_LINK_MAPS_H
#define TAKT_LINK_MAPS_H

#include "gap.h"
#include "link.h"
#include "registered.h"

#define TAKT_LINKS 64			/* devices at once, over all namespaces; bits of a u64 */
#define TAKT_HANDLE_MAJOR 0x7a00	/* qdisc handle of the first link: 7a00: */
#define TAKT_ETH_HEADER_BYTES 14

/* The store holds packets by packet slot, then gap frames, then one bell. */
#define TAKT_STORE_BELL (TAKT_PACKETS + TAKT_GAP_SLOTS)
#define TAKT_STORE_SLOTS (TAKT_STORE_BELL + 1)

/*
 * A bell is a frame of this length, which is too short for a gap frame. The helper sends it, and
 * notices when it is freed: an entity is blocked, and an idle processor should ask for packets
 * (which sending the next bell does). A bell from a busy processor is refused.
 */
#define TAKT_BELL_BYTES 32

/* Raised whenever a struct that user space shares changes; pinned beside the maps. */
#define TAKT_LINK_ABI 16

/*
 * One link in the kernel: a map of its own, shared with user space. User space writes the plan
 * that is not in force and calls takt_link_commit to switch.
 */
struct takt_port {
	/* First, since BPF needs more instructions for what is beyond 32 KiB. */
	u32 active;		/* the plan in force: 0 or 1 */
	u32 bell;		/* a bell is in the store */
	u32 opener;		/* the helper's thread that sends it */
	u32 attached;		/* the qdisc is attached to its device ... */
	u64 device;		/* ... which has this address in the kernel */
	u32 marks;		/* a mark was ever due */
	u32 pad;
	/* Used by the qdisc under its lock; a BPF stack is small. */
	u64 scratch;
	struct takt_choice choice;
	/* Of the packet that arrives. */
	struct takt_arrival arrival;
	struct takt_newcomer newcomer;
	struct takt_registration registration;
	struct takt_link link;
	struct takt_gap gap;
	struct takt_plan plans[2];
};

/* Argument of takt_link_commit: the links that switch plans, all in one step. */
struct takt_commit_args {
	u64 links;		/* bit per link */
};

#endif
