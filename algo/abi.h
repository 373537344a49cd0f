/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The ground algo/ stands on: fixed-width types and how a function is placed.
 *
 * Everything in algo/ is a decision: it gets the time, lengths and packets'
 * addresses as arguments and returns what to do. It calls no helper, touches
 * no map and no kernel pointer, uses integers only, and bounds every loop. So
 * the very same lines run inside the kernel's BPF machine, in the tests and in
 * the simulator.
 */
#ifndef TAKT_ABI_H
#define TAKT_ABI_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int s32;
typedef long long s64;

#define TAKT_TIME_NEVER (~0ULL)

/*
 * TAKT_FN      small enough to be inlined everywhere.
 * TAKT_FN_OUT  holds a loop, or many branches: in BPF a global function, which the verifier
 *              checks once by its types instead of once per caller and state.
 *              Its pointers are marked TAKT_ARG: never null. It is weak, for callers know
 *              nothing of it in the verifier's eyes and must not in the compiler's either:
 *              that would leave out a bounds check that it knows to be of no use.
 * TAKT_FOR     a loop that seldom runs, or long: in BPF the kernel's own iterator, whose body
 *              the verifier checks until nothing new comes of it, not once per round. A call
 *              per round is its price.
 */
#ifdef TAKT_BPF
#define TAKT_FOR(i, from, to) bpf_for (i, from, to)
#define TAKT_ARG __attribute__((btf_decl_tag("arg:nonnull")))
#define TAKT_FN static __attribute__((always_inline, unused))
#define TAKT_FN_OUT __attribute__((noinline, weak))
#else
#define TAKT_FOR(i, from, to) for ((i) = (from); (i) < (to); (i)++)
#define TAKT_ARG
#define TAKT_FN static inline __attribute__((unused))
#define TAKT_FN_OUT static inline __attribute__((unused))
#endif

TAKT_FN u64 takt_max(u64 a, u64 b)
{
	return a > b ? a : b;
}

TAKT_FN u64 takt_min(u64 a, u64 b)
{
	return a < b ? a : b;
}

TAKT_FN u64 takt_clamp(u64 value, u64 low, u64 high)
{
	return value < low ? low : value > high ? high : value;
}

#endif
