/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Classification where one port of TCP and UDP is all that rules ask for: what classify.h would
 * answer, in a table by protocol and port. The planner fills it with the classifier's answers.
 *
 * Packets with other protocols, options, extension headers, tags, labels or fragments have no place
 * in the table: the rules are searched for them.
 */
#ifndef TAKT_PORTS_H
#define TAKT_PORTS_H

#include "headers.h"

#define TAKT_PORTS 65536
#define TAKT_PORT_PLACES (2 * TAKT_PORTS)	/* UDP, then TCP */
#define TAKT_PORT_NONE TAKT_PORT_PLACES

/* By which port: 0 is none. */
#define TAKT_PORT_SOURCE 1
#define TAKT_PORT_DESTINATION 2

/* The place of a TCP or UDP header at this address. */
TAKT_FN u32 takt_port_place(u64 at, u8 proto, u32 which)
{
	u32 row = takt_row(at);
	u32 port = which == TAKT_PORT_SOURCE ? row >> 16 : row & (TAKT_PORTS - 1);

	if (proto == 17)
		return port;
	return proto == 6 ? TAKT_PORTS | port : TAKT_PORT_NONE;
}

/* As takt_key_read(), but returns a packet's place, or TAKT_PORT_NONE. */
TAKT_FN u32 takt_port_read(u16 ethertype, u64 at, u64 end, u32 which)
{
	if (ethertype == TAKT_ETH_P_IP) {
		if (at + TAKT_IPV4_HEADER + 4 > end || takt_row(at) >> 24 != 0x45 ||
		    takt_row(at + 4) & 0x3fff)
			return TAKT_PORT_NONE;
		return takt_port_place(at + TAKT_IPV4_HEADER, takt_row(at + 8) >> 16, which);
	}
	if (ethertype != TAKT_ETH_P_IPV6 || at + TAKT_IPV6_HEADER + 4 > end ||
	    takt_row(at) >> 28 != 6)
		return TAKT_PORT_NONE;
	return takt_port_place(at + TAKT_IPV6_HEADER, takt_row(at + 4) >> 8, which);
}

#endif
