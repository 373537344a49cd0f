/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The kernel's types that programs that watch sockets get. */
#ifndef TAKT_KERNEL_TASK_H
#define TAKT_KERNEL_TASK_H

#include "task.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct bpf_map;
struct file;

struct socket {
	struct sock *sk;
};

struct inet_sock {
	__be16 inet_sport;	/* stays until the socket is freed, unlike skc_num */
};

struct proto_accept_arg;

struct bpf_iter__task_file {
	union {
		struct task_struct *task;
	};
	union {
		struct file *file;
	};
};

struct bpf_sock {
	u32 protocol;
	u32 state;
};

struct bpf_sock_addr {
	u32 protocol;
	struct bpf_sock *sk;
};

struct bpf_sock_ops {
	u32 op;
	struct bpf_sock *sk;
};

#pragma clang attribute pop

#define AF_INET 2
#define AF_INET6 10
#define IPPROTO_TCP 6

#define BPF_ANY 0
#define BPF_SK_STORAGE_GET_F_CREATE 1
#define BPF_F_CLONE 512

#define BPF_SOCK_OPS_TCP_CONNECT_CB 3
#define BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB 5
#define BPF_SOCK_OPS_TCP_LISTEN_CB 11

#endif
