/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What is known of a socket: bpf/owner writes it; the qdisc, other classifiers and user space read
 * it. A socket that is in the map is open.
 */
#ifndef TAKT_SOCKETS_H
#define TAKT_SOCKETS_H

#include "abi.h"

#define TAKT_SOCKETS 262144	/* in the map at once, over all namespaces */
#define TAKT_ROUTES 65536	/* connections from other namespaces at once */
#define TAKT_SLOTS 2		/* the questions of the present policy, and of the next */

/* The questions that it answers with yes. */
struct takt_answer {
	u32 who[TAKT_SLOTS];
};

struct takt_socket {
	u64 netns_cookie;	/* the namespace that asked the questions */
	u32 who[TAKT_SLOTS];	/* bit per question of the slot: 1 is yes */
	u32 tgid;		/* the process that made, connected, accepted or used it last */
	u32 uid;		/* its effective user */
	u32 task_prio;		/* of the task that did, see gate.h */
	u32 pad;
};

/*
 * A connection of a socket in another namespace than its policy's. Routing takes the socket from
 * its packets, and may rewrite the source address, but leaves these.
 */
struct takt_route {
	u32 dst[4];		/* as on the wire; IPv4: the first */
	u16 src_port, dst_port;	/* host order */
	u32 family;		/* TAKT_FAMILY_* */
};

#endif
