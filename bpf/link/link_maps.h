/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the qdisc and user space agree on beyond algo/link.h. */
#ifndef TAKT_LINK_MAPS_H
#define TAKT_LINK_MAPS_H

#include "gap.h"
#include "link.h"
#include "registered.h"

#define TAKT_LINKS 64			/* devices at once, over all namespaces; bits of a u64 */
#define TAKT_HANDLE_MAJOR 0x7a00	/* qdisc handle of the first link: 7a00: */
#define TAKT_ETH_HEADER_BYTES 14

/* The store holds packets by their places, behind them gap frames, and one bell. */
#define TAKT_STORE_BELL (TAKT_PACKETS + TAKT_GAP_PLACES)
#define TAKT_STORE_PLACES (TAKT_STORE_BELL + 1)

/*
 * A bell is a frame of this length, which is too short for a gap frame. Its sender
 * hears it when it is freed: somebody is held, and a processor that has nothing
 * better to do should come and ask for packets (which sending a bell does). From a
 * processor that others wait for, none is taken.
 */
#define TAKT_BELL_BYTES 32

/* Raised whenever a struct that crosses into user space changes. */
#define TAKT_LINK_ABI 5

/*
 * One link as it lies in the kernel: a map of its own, shared with user space.
 * User space writes the plan that is not in force and has takt_link_commit switch.
 */
struct takt_port {
	struct takt_link link;
	struct takt_gap gap;
	struct takt_plan plans[2];
	u32 active;		/* the plan in force: 0 or 1 */
	u32 bell;		/* there is one in the store */
	u32 opener;		/* the thread that hangs it */
	u32 stands;		/* the qdisc is on its device ... */
	u64 device;		/* ... whose address in the kernel is this */
	/* The qdisc's, under its lock; a BPF stack is small. */
	u64 scratch;
	struct takt_choice choice;
	/* Of the packet that arrives. */
	struct takt_newcomer newcomer;
	struct takt_registration registration;
};

/* What takt_link_commit is told: the links whose plans switch, all in one step. */
struct takt_commit_args {
	u64 links;		/* bit per link */
};

#endif
