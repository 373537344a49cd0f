/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Every watched socket, by its cookie. Of the qdisc and what watches sockets, the one that is
 * loaded first makes the maps. Include kernel.h or plain.h before.
 */
#ifndef TAKT_SOCKETS_MAP_H
#define TAKT_SOCKETS_MAP_H

#include "sockets.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, TAKT_SOCKETS);
	__type(key, u64);
	__type(value, struct takt_socket);
} takt_link_sockets SEC(".maps");

/* The socket's cookie of each such connection of TCP; 0: of several that cannot be told apart. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, TAKT_ROUTES);
	__type(key, struct takt_route);
	__type(value, u64);
} takt_link_routes SEC(".maps");

#endif
