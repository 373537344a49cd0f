/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the program that stamps departure times shares with user space. */
#ifndef TAKT_EDT_MAPS_H
#define TAKT_EDT_MAPS_H

#include "activity.h"
#include "framing.h"

#define TAKT_EDT_CLASSES 4096

/* A class's state, on a cache line of its own. It outlives policies. */
struct takt_edt_class {
	struct takt_shared_clock clock;
	u64 packets;	/* that were let through, and their bytes on the wire */
	u64 bytes;
	u64 dropped;	/* packets */
	u64 pad[4];
};

struct takt_edt_classes {
	struct takt_edt_class classes[TAKT_EDT_CLASSES];
};

#endif
