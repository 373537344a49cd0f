/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The layouts that the programs that watch sockets share with user space. Raise TAKT_LINK_ABI
 * when a struct here or in sockets.h changes: both objects are loaded by the same takt.
 */
#ifndef TAKT_OWNER_MAPS_H
#define TAKT_OWNER_MAPS_H

#include "names.h"
#include "sockets.h"

#define TAKT_QUESTIONS 4096	/* over all namespaces and slots */
#define TAKT_NAMESPACES 64	/* watched at once */

#define TAKT_ASK_APP 0		/* name of a thread, or of its process */
#define TAKT_ASK_USER 1		/* effective user */
#define TAKT_ASK_CGROUP 2	/* path from the root of cgroup2, of the group or one above it */
#define TAKT_ASK_UNIT 3		/* last name of such a path */

struct takt_question {
	u64 netns_cookie;	/* of the policy that asks */
	u32 kind;		/* TAKT_ASK_* */
	u32 uid;		/* USER: the user; else 0 */
	u64 name[2];		/* APP: padded with zeros; CGROUP, UNIT: hash, 0; else 0 */
};

/*
 * The key of the watch for namespaces that have no policy of their own: those of containers. Their
 * sockets answer the questions of the host's own namespace.
 */
#define TAKT_ELSEWHERE 0

/* A network namespace whose sockets are watched. */
struct takt_watch {
	u64 netns_cookie;	/* that asks the questions */
	u32 generation;		/* raised when its questions have changed; never 0 */
	u32 kinds;		/* bit per TAKT_ASK_* that occurs */
};

/* Arguments of takt_owner_clear and takt_owner_forget. */
struct takt_clear_args {
	u64 netns_cookie;	/* 0: every namespace */
	u32 slot;		/* takt_owner_clear: whose answers become no */
	u32 pad;
};

#endif
