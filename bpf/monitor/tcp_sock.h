/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The parts of the kernel's TCP that the monitor uses. */
#ifndef TAKT_MONITOR_TCP_SOCK_H
#define TAKT_MONITOR_TCP_SOCK_H

#include "task.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct tcp_congestion_ops {
	char name[16];
};

struct inet_connection_sock {
	const struct tcp_congestion_ops *icsk_ca_ops;
	u8 icsk_ca_state : 5;
};

struct minmax_sample {
	u32 v;
};

struct minmax {
	struct minmax_sample s[3];
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	u32 snd_cwnd, snd_ssthresh, mss_cache;
	u32 packets_out, sacked_out, lost_out, retrans_out;
	u32 snd_una, snd_nxt, write_seq, rcv_nxt, copied_seq, rcv_wup;
	u32 snd_wnd, rcv_wnd;
	u32 srtt_us, mdev_us;	/* eighths and quarters */
	struct minmax rtt_min;
	u32 delivered, delivered_ce, lost, total_retrans;
	u16 total_rto;
	u32 rate_delivered, rate_interval_us;
	u64 bytes_acked, bytes_received;
	u8 rate_app_limited : 1;
	u8 is_cwnd_limited : 1;
};

/* The layout of a packet's control block while TCP has it. */
struct tcp_skb_cb {
	u16 tcp_gso_segs;
	u8 ip_dsfield;
};

struct seq_file;
struct file;

struct socket {
	struct sock *sk;
};

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__tcp {
	struct bpf_iter_meta *meta;
	struct sock_common *sk_common;
};

struct bpf_iter__bpf_sk_storage_map {
	struct bpf_iter_meta *meta;
	struct sock *sk;
	void *value;
};

struct bpf_iter__task_file {
	struct task_struct *task;
	struct file *file;
};

#pragma clang attribute pop

#define AF_INET6 10
#define IPPROTO_TCP 6
#define TCP_CA_LOSS 4
#define INET_ECN_MASK 3
#define INET_ECN_CE 3

#define BPF_RB_NO_WAKEUP 1
#define BPF_SK_STORAGE_GET_F_CREATE 1

#endif
