/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The parts of the kernel's TCP that the programs use which set rates on sockets. */
#ifndef TAKT_FLOW_TCP_SOCKET_H
#define TAKT_FLOW_TCP_SOCKET_H

/* Linux 6.1 has no iterators for loops. */
#define TAKT_BPF_PLAIN
#include "kernel.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct ipv6_pinfo {
	u8 tclass;
};

struct inet_sock {
	struct ipv6_pinfo *pinet6;
	__be16 inet_sport;
	u8 tos;
};

struct tcp_sock {
	u16 tcp_header_len;	/* with the options of every segment */
	u32 mss_cache;		/* payload of a full segment */
	u32 segs_out;		/* acknowledgements, too */
	u64 bytes_sent;		/* payload, and again what was sent again */
};

struct bpf_sock;

struct bpf_sock_ops {
	u32 op;
	struct bpf_sock *sk;
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__tcp {
	struct bpf_iter_meta *meta;
	struct sock_common *sk_common;
};

#pragma clang attribute pop

#define AF_INET 2
#define BPF_F_CLONE 512
#define BPF_SK_STORAGE_GET_F_CREATE 1
#define BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB 4
#define BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB 5
#define TCP_SYN_SENT 2
#define SOL_SOCKET 1
#define SO_MAX_PACING_RATE 47

#endif
