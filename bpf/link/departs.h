// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* What a packet, or its socket, says about when it may leave; see algo/departure.h. */
#ifndef TAKT_DEPARTS_H
#define TAKT_DEPARTS_H

#include "kernel.h"
#include "link.h"

/* Monotonic time reaches this after 36 years; wall-clock time was there in 2006. */
#define TAKT_WALL_CLOCK_NS (1ULL << 60)

/*
 * The packet's stamp, on the clock that the qdisc goes by; 0: none.
 *
 * As in fq, a stamp without a clock (a tc program that writes tstamp) is monotonic time. CLOCK_TAI
 * is converted. CLOCK_REALTIME cannot be read here: such stamps count for nothing.
 */
static __always_inline u64 stamp_of(const struct sk_buff *skb)
{
	u64 stamp_ns;

	stamp_ns = skb->tstamp;
	if (stamp_ns < TAKT_WALL_CLOCK_NS)
		return stamp_ns;
	if (BPF_CORE_READ_BITFIELD(skb, tstamp_type) != SKB_CLOCK_TAI)
		return 0;
	return stamp_ns - bpf_ktime_get_tai_ns() + bpf_ktime_get_ns();
}

/*
 * The pacing rate of the packet's socket; 0: not limited, or TCP, which makes stamps itself. What
 * is not a full socket has other things in the place of a rate, so its state is asked next.
 */
static __always_inline u64 pacing_of(const struct sk_buff *skb)
{
	const struct sock *sk = skb->sk;
	u64 bytes_per_s;

	if (!sk)
		return 0;
	bytes_per_s = sk->sk_pacing_rate;
	if (bytes_per_s == ~0ULL || sk->__sk_common.skc_state == TCP_NEW_SYN_RECV ||
	    sk->__sk_common.skc_state == TCP_TIME_WAIT || sk->sk_protocol == IPPROTO_TCP)
		return 0;
	return takt_clamp(bytes_per_s, 1, ~0ULL / 8) * 8;
}

/*
 * What a packet's sender wants. What comes in has the time of its arrival in the place of a stamp,
 * and no socket of this host, though one from another namespace may still have its sender's. A
 * function of its own: the stack of enqueue is full.
 */
static __noinline void takt_link_read_sender(const struct sk_buff *skb,
					     const struct takt_plan *plan,
					     struct takt_arrival *arrival)
{
	arrival->local = 0;
	arrival->stamp_ns = 0;
	arrival->pacing_bps = 0;
	if (plan->incoming)
		return;
	arrival->local = skb->sk != NULL;
	arrival->stamp_ns = stamp_of(skb);
	arrival->pacing_bps = arrival->stamp_ns ? 0 : pacing_of(skb);
}

#endif
