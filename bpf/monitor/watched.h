/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the monitor stores for a socket: what it has reported, and which process holds the socket.
 * It ends with the socket, or with the monitor.
 */
#ifndef TAKT_MONITOR_WATCHED_H
#define TAKT_MONITOR_WATCHED_H

#include "flow.h"

struct watched {
	u64 cookie;
	u64 limit_told_ns, echoes_told_ns, marks_told_ns;
	u32 limit;		/* as last reported */
	u32 echoes_told;	/* part of the socket's count */
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

/* Watch the socket, unless it already is. Marks from before are not reported; a full window is. */
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
