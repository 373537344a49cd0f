/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Gives packets a DSCP (RFC 2474): the upper six bits of the byte whose lower two are ECN
 * (RFC 3168), which stay.
 */
#ifndef TAKT_DSCP_H
#define TAKT_DSCP_H

#include "headers.h"

/*
 * The first 16 bits of a header with this DSCP; or as they are, if they begin none.
 * IPv4: version 4, header length 4, DSCP 6, ECN 2. IPv6: version 4, DSCP 6, ECN 2, flow label 4.
 */
TAKT_FN u32 takt_dscp_set(u32 first, u16 ethertype, u32 dscp)
{
	u32 is_ipv4 = ethertype == TAKT_ETH_P_IP, shift = is_ipv4 ? 2 : 6;

	if (first >> 12 != (is_ipv4 ? 4U : 6U))
		return first;
	return (first & ~(63U << shift)) | (dscp & 63) << shift;
}

#endif
