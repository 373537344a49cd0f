/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Headers that were copied from a packet, for algo/headers.h: an address is an offset there. */
#ifndef TAKT_ROWS_H
#define TAKT_ROWS_H

#include "plain.h"

#define TAKT_ROWS_BYTES 128U

static u32 takt_rows[TAKT_ROWS_BYTES / 4];

static __attribute__((always_inline, unused)) u32 takt_raw_row(u64 at)
{
	return takt_rows[(at >> 2) & (TAKT_ROWS_BYTES / 4 - 1)];
}

#endif
