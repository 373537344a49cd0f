/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What a TCP socket itself tells of its flow. */
#ifndef TAKT_MONITOR_FLOW_H
#define TAKT_MONITOR_FLOW_H

#include "tcp_sock.h"
#include "monitor_maps.h"

/* Costs nothing, unlike bpf_skc_to_tcp_sock(): the socket is known to be TCP's. */
static __always_inline const struct tcp_sock *tcp_of(const struct sock *sk)
{
	return bpf_rdonly_cast(sk, bpf_core_type_id_kernel(struct tcp_sock));
}

static __always_inline void read_address(u32 to[4], const struct in6_addr *from)
{
	to[0] = from->in6_u.u6_addr32[0];
	to[1] = from->in6_u.u6_addr32[1];
	to[2] = from->in6_u.u6_addr32[2];
	to[3] = from->in6_u.u6_addr32[3];
}

/* Precondition: *ends is all zero. */
static __always_inline void read_ends(struct takt_monitor_ends *ends, const struct sock *sk)
{
	const struct sock_common *common = &sk->__sk_common;

	ends->cookie = common->skc_cookie.counter;
	ends->local_port = common->skc_num;
	ends->remote_port = __builtin_bswap16(common->skc_dport);
	if (common->skc_family == AF_INET6 && bpf_core_field_exists(common->skc_v6_daddr)) {
		ends->is_v6 = 1;
		read_address(ends->local, &common->skc_v6_rcv_saddr);
		read_address(ends->remote, &common->skc_v6_daddr);
	} else {
		ends->local[0] = common->skc_rcv_saddr;
		ends->remote[0] = common->skc_daddr;
	}
}

static __always_inline u32 in_flight(const struct tcp_sock *tp)
{
	return tp->packets_out - (tp->sacked_out + tp->lost_out) + tp->retrans_out;
}

/*
 * What limits the flow. For the congestion window the kernel keeps its own flag for a round trip;
 * for the receiver's window, the flow is limited if the next segment does not fit.
 */
static __always_inline u32 limit_of(const struct tcp_sock *tp)
{
	u32 room;

	if (!tp->packets_out)
		return TAKT_MONITOR_FREE;
	if (BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited))
		return TAKT_MONITOR_WINDOW;
	if (tp->write_seq == tp->snd_nxt)
		return TAKT_MONITOR_FREE;
	room = tp->snd_una + tp->snd_wnd - tp->snd_nxt;
	return (s32)room < (s32)tp->mss_cache ? TAKT_MONITOR_RECEIVER : TAKT_MONITOR_FREE;
}

static __always_inline u64 delivery_rate(const struct tcp_sock *tp)
{
	u64 interval_us = tp->rate_interval_us;

	if (!interval_us)
		return 0;
	return (u64)tp->rate_delivered * tp->mss_cache * 1000000 / interval_us;
}

static __always_inline void read_flow(struct takt_monitor_sample *sample,
				      const struct tcp_sock *tp)
{
	sample->delivery_bytes_ps = delivery_rate(tp);
	sample->acked_bytes = tp->bytes_acked;
	sample->received_bytes = tp->bytes_received;
	sample->cwnd = tp->snd_cwnd;
	sample->ssthresh = tp->snd_ssthresh;
	sample->in_flight = in_flight(tp);
	sample->mss_bytes = tp->mss_cache;
	sample->rtt_us = tp->srtt_us >> 3;
	sample->rtt_var_us = tp->mdev_us >> 2;
	sample->rtt_min_us = tp->rtt_min.s[0].v;
	sample->send_queue_bytes = tp->write_seq - tp->snd_una;
	sample->unsent_bytes = tp->write_seq - tp->snd_nxt;
	sample->receive_queue_bytes = tp->rcv_nxt - tp->copied_seq;
	sample->peer_window_bytes = tp->snd_wnd;
	sample->own_window_bytes = tp->rcv_wup + tp->rcv_wnd - tp->rcv_nxt;
	sample->delivered = tp->delivered;
	sample->lost = tp->lost;
	sample->retransmitted = tp->total_retrans;
	sample->timeouts = tp->total_rto;
	sample->ecn_echoes = tp->delivered_ce;
	sample->congestion_state = BPF_CORE_READ_BITFIELD(&tp->inet_conn, icsk_ca_state);
	sample->limit = limit_of(tp);
	sample->is_app_limited = BPF_CORE_READ_BITFIELD(tp, rate_app_limited);
	bpf_core_read_str(sample->congestion, sizeof(sample->congestion),
			  &tp->inet_conn.icsk_ca_ops->name);
}

#endif
