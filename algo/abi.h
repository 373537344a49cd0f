/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What all of algo/ builds on: fixed-width types and how a function is compiled.
 *
 * Everything in algo/ is a decision: it gets the time, lengths and packets' addresses as
 * arguments and returns what to do. It calls no helper, touches no map and no kernel pointer,
 * uses integers only, and bounds every loop. So the same lines run in BPF inside the kernel, in
 * the tests and in the simulator.
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
#define TAKT_CACHE_LINE 64

/*
 * TAKT_FN      small enough to be inlined everywhere. In BPF the verifier's log has the caller's
 *              lines for it: its own, copied to each caller, were a third of the objects' bytes
 *              beside the code.
 * TAKT_FN_OUT  holds a loop, or many branches: in BPF a global function, which the verifier
 *              checks once by its types instead of once per caller and state.
 *              Its pointers are marked TAKT_ARG: never null. It is weak: the verifier checks
 *              callers without knowing its body, and the compiler must not know it either, or
 *              it drops bounds checks that it considers redundant and the verifier needs.
 * TAKT_FN_LEAN as TAKT_FN_OUT in programs that have much else to verify, inlined in the others.
 * TAKT_FN_RARE off the usual way: in BPF out of line, where it takes no registers and no stack
 *              of its callers, and checked with them.
 * TAKT_FOR     a rare or long loop: in BPF the kernel's iterator, whose body the verifier
 *              checks until the states converge, not once per round. It costs a call per round.
 *
 * With TAKT_BPF_PLAIN, for kernels before 6.8: loops are plain, and a global function begins with
 * TAKT_NEED, since its pointers may be null.
 */
#ifndef TAKT_BPF_PLAIN
#define TAKT_NEED(pointer, otherwise)
#endif

#ifdef TAKT_BPF
#define TAKT_FOR(i, from, to) bpf_for (i, from, to)
#define TAKT_ARG __attribute__((btf_decl_tag("arg:nonnull")))
#define TAKT_FN static __attribute__((always_inline, unused, nodebug))
#define TAKT_FN_OUT __attribute__((noinline, weak))
#define TAKT_FN_LEAN TAKT_FN_OUT
#define TAKT_FN_RARE static __attribute__((noinline, unused))
#elif defined(TAKT_BPF_PLAIN)
#define TAKT_FOR(i, from, to) for ((i) = (from); (i) < (to); (i)++)
#define TAKT_ARG
#define TAKT_NEED(pointer, otherwise)       \
	do {                                \
		if (!(pointer))             \
			return (otherwise); \
	} while (0)
#define TAKT_FN static __attribute__((always_inline, unused, nodebug))
#define TAKT_FN_OUT __attribute__((noinline, weak))
#define TAKT_FN_LEAN TAKT_FN
#define TAKT_FN_RARE static __attribute__((noinline, unused))
#else
#define TAKT_FOR(i, from, to) for ((i) = (from); (i) < (to); (i)++)
#define TAKT_ARG
#define TAKT_FN static inline __attribute__((unused))
#define TAKT_FN_OUT static inline __attribute__((unused))
#define TAKT_FN_LEAN TAKT_FN
#define TAKT_FN_RARE TAKT_FN
#endif

/* The compiler keeps values out of the way of what follows otherwise. */
#define TAKT_LIKELY(x) __builtin_expect(!!(x), 1)

/*
 * The compiler keeps a branch that seldom changes this. BPF has no conditional moves, and it would
 * make two branches to save one.
 */
#if defined(TAKT_BPF) || defined(TAKT_BPF_PLAIN)
#define TAKT_BRANCH(x) asm volatile("" : "+r"(x))
#else
#define TAKT_BRANCH(x)
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
