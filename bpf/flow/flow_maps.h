/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the programs that set rates on sockets share with user space. */
#ifndef TAKT_FLOW_MAPS_H
#define TAKT_FLOW_MAPS_H

#include "classify.h"

#define TAKT_PACED_CLASSES 4096

/* The device whose connections are paced. */
struct takt_paced_link {
	u64 netns_cookie;
	u32 ifindex;
	u32 header_bytes;	/* of each packet, besides IP and TCP: on the wire */
};

/* What was counted of a class, without connections that are still in it. */
struct takt_paced_class {
	u64 flows;	/* that came into it since the link was made */
	u64 left;	/* those of them that are not in it any more, and what these sent */
	u64 packets;
	u64 bytes;	/* on the wire */
};

/* A connection, as the iterator writes it. */
struct takt_paced_report {
	struct takt_key key;
	u64 packets;
	u64 bytes;	/* on the wire */
	u32 class_id;
	u32 pad;
};

#endif
