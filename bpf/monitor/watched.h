/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the monitor remembers of a socket: what it has told of it, and who holds it. It goes
 * with the socket, or with the monitor.
 */
#ifndef TAKT_MONITOR_WATCHED_H
#define TAKT_MONITOR_WATCHED_H

#include "flow.h"

struct watched {
	u64 cookie;
	u64 limit_told_ns, echoes_told_ns, marks_told_ns;
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
} takt_monitor_socks SEC(".maps");

/* From now on, if it was not yet; marks of before are not told, a window that is full is. */
static __always_inline struct watched *watch(struct sock *sk)
{
	struct watched *watched;

	watched = bpf_sk_storage_get(&takt_monitor_socks, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (watched && !watched->cookie) {
		watched->echoes_told = tcp_of(sk)->delivered_ce;
		watched->cookie = bpf_get_socket_cookie(sk);
	}
	return watched;
}

#endif
