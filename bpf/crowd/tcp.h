/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The parts of the kernel's TCP that the congestion control uses. */
#ifndef TAKT_TCP_H
#define TAKT_TCP_H

#include "kernel.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct minmax_sample {
	u32 t, v;
};

struct minmax {
	struct minmax_sample s[3];
};

struct tcp_sock {
	u32 snd_cwnd, snd_ssthresh;
	u32 packets_out, mss_cache;
	u32 delivered, lost;
	u32 srtt_us;		/* eight times */
	u32 write_seq, snd_nxt;
	struct minmax rtt_min;
	/* Of what it receives. */
	u64 bytes_received;
	u32 window_clamp;
	u16 advmss;
	u32 rcv_rtt_last_tsecr;	/* 0: no round trip was measured by timestamps */
	struct {
		u32 rtt_us;	/* eight times */
	} rcv_rtt_est;
};

/* The context of an iterator over TCP's sockets. */
struct bpf_iter__tcp {
	void *meta;
	struct sock_common *sk_common;
};

struct ack_sample {
	u32 pkts_acked;
	s32 rtt_us;
	u32 in_flight;
};

enum tcp_ca_event {
	CA_EVENT_TX_START,
};

struct tcp_congestion_ops {
	u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
	void (*set_state)(struct sock *sk, u8 new_state);
	void (*cwnd_event)(struct sock *sk, enum tcp_ca_event event);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	u32 (*undo_cwnd)(struct sock *sk);
	void (*init)(struct sock *sk);
	char name[16];
	u32 flags;
};

/* In newer kernels (7.3 is one) the only event that CUBIC uses has its own call. */
struct tcp_congestion_ops___tx_start {
	u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
	void (*set_state)(struct sock *sk, u8 new_state);
	void (*cwnd_event_tx_start)(struct sock *sk);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	u32 (*undo_cwnd)(struct sock *sk);
	void (*init)(struct sock *sk);
	char name[16];
	u32 flags;
};

#pragma clang attribute pop

#define TCP_CA_LOSS 4
/* No slow start has ended yet. */
#define TCP_INFINITE_SSTHRESH 0x7fffffff
/* Any network namespace and any program may choose it. */
#define TCP_CONG_NON_RESTRICTED 1

/* The kernel's CUBIC. */
void cubictcp_init(struct sock *sk) __ksym;
u32 cubictcp_recalc_ssthresh(struct sock *sk) __ksym;
void cubictcp_cong_avoid(struct sock *sk, u32 ack, u32 acked) __ksym;
void cubictcp_state(struct sock *sk, u8 new_state) __ksym;
void cubictcp_cwnd_event(struct sock *sk, enum tcp_ca_event event) __ksym __weak;
void cubictcp_cwnd_event_tx_start(struct sock *sk) __ksym __weak;
void cubictcp_acked(struct sock *sk, const struct ack_sample *sample) __ksym;
u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;

#endif
