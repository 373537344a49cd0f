/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the monitor remembers of a socket: what it has told of it, and who holds it. It goes
 * with the socket, or with the monitor.
 */
#ifndef TAKT_MONITOR_WATCHED_H
#define TAKT_MONITOR_WATCHED_H

#include "tcp_sock.h"
#include "monitor_maps.h"

struct watched {
	u64 limit_told_ns, echoes_told_ns, marks_told_ns;
	u32 is_begun;
	u32 limit;		/* as told */
	u32 echoes_told;	/* of the socket's count */
	u32 marks, marks_told;
	u32 tgid;
	char application[TAKT_COMM_BYTES];
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct watched);
} takt_watched SEC(".maps");

#endif
