/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the qdisc and user space agree on beyond algo/link.h. */
#ifndef TAKT_LINK_MAPS_H
#define TAKT_LINK_MAPS_H

#define TAKT_LINKS 64			/* devices at once, over all namespaces */
#define TAKT_HANDLE_MAJOR 0x7a00	/* qdisc handle of the first link: 7a00: */
#define TAKT_ETH_HEADER_BYTES 14

/* Raised whenever a struct that crosses into user space changes. */
#define TAKT_LINK_ABI 1

#endif
