/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Multiples of a time that may be a fraction of nanoseconds: 64 frames at 48 kHz take 4/3 ms. They
 * are counted from zero of a clock, so nothing adds up: an edge is the first whole nanosecond at
 * or after the multiple, after any number of them.
 *
 * The clock is ahead of the one that times are read from, by a constant: CLOCK_TAI is so ahead of
 * CLOCK_MONOTONIC as long as it is not set.
 */
#ifndef TAKT_EXACT_H
#define TAKT_EXACT_H

#include "abi.h"

/* For times up to this, with such denominators, no product below has more than 64 bits. */
#define TAKT_EXACT_DEN_MAX 65535U
#define TAKT_EXACT_MAX_NS 4000000000U

/* num / den nanoseconds, in lowest terms. */
struct takt_exact {
	u64 num;
	u32 den;		/* 1..EXACT_DEN_MAX */
	u32 pad;
	u64 ahead_ns;		/* from the time that is read to the clock's */
};

/* How many whole multiples there are up to this time. */
TAKT_FN u64 takt_exact_count(const struct takt_exact *exact, u64 time_ns)
{
	u64 num = takt_max(exact->num, 1);

	time_ns += exact->ahead_ns;
	if (exact->den <= 1)
		return time_ns / num;
	return time_ns / num * exact->den + time_ns % num * exact->den / num;
}

/*
 * The edge at this multiple. Modulo 2^64: the first multiple may lie before the other clock's zero.
 */
TAKT_FN u64 takt_exact_edge_ns(const struct takt_exact *exact, u64 count)
{
	u64 den = takt_max(exact->den, 1), edge_ns;

	if (den == 1)
		edge_ns = count * exact->num;
	else
		edge_ns = count / den * exact->num + (count % den * exact->num + den - 1) / den;
	return edge_ns - exact->ahead_ns;
}

/* Without the fraction. */
TAKT_FN u64 takt_exact_whole_ns(const struct takt_exact *exact)
{
	return exact->den <= 1 ? exact->num : exact->num / exact->den;
}

#endif
