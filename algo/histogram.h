/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A histogram of durations, two buckets to each doubling: bucket 2k holds [2^k, 1.5 * 2^k) and
 * bucket 2k + 1 the rest up to 2^(k+1); buckets 0 and 1 hold 0 and 1 ns.
 */
#ifndef TAKT_HISTOGRAM_H
#define TAKT_HISTOGRAM_H

#include "abi.h"

#define TAKT_BUCKETS 64U
#define TAKT_BUCKET_MAX_NS 0xFFFFFFFFU	/* longer durations are counted as this */

TAKT_FN u32 takt_bucket(u64 ns)
{
	u32 value = ns > TAKT_BUCKET_MAX_NS ? TAKT_BUCKET_MAX_NS : (u32)ns, log;

	if (value < 2)
		return value;
	log = value >> 16 ? 16 : 0;
	log += value >> log >> 8 ? 8 : 0;
	log += value >> log >> 4 ? 4 : 0;
	log += value >> log >> 2 ? 2 : 0;
	log += value >> log >> 1 ? 1 : 0;
	return 2 * log + (value >> (log - 1) & 1);
}

#endif
