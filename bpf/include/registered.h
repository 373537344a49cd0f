/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Destinations that were registered at run time: user space writes them, the qdisc reads them.
 * One that was removed stays for a while, switched off, so that packets queued before are not
 * overtaken by later ones.
 */
#ifndef TAKT_REGISTERED_H
#define TAKT_REGISTERED_H

#include "abi.h"

#define TAKT_REGISTRATIONS 4096	/* at once, over all namespaces and users */
#define TAKT_EVERYONE 0xffffffffU	/* the uid of a registration for all packets */

struct takt_destination {
	u64 netns_cookie;
	u32 uid;	/* of the sockets' owner, or TAKT_EVERYONE */
	u16 port;	/* host order */
	u8 family;	/* TAKT_FAMILY_* */
	u8 pad;
	u32 address[4];	/* as in takt_key */
};

struct takt_registration {
	u64 changed_ns;	/* when it was last switched; unique */
	u32 on;
	u32 pad;
};

/* Without entries there is no look-up. */
struct takt_registry {
	u32 entries;
};

#endif
