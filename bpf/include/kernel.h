/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The parts of the kernel's types that Takt's programs use. Field offsets are relocated against
 * the running kernel's own BTF at load time (CO-RE), so this header serves every kernel from 6.16
 * on, and for programs that watch sockets from 6.1 on.
 */
#ifndef TAKT_KERNEL_H
#define TAKT_KERNEL_H

#ifndef TAKT_BPF_PLAIN
#define TAKT_BPF
#endif
#include "scalars.h"

enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_ARRAY_OF_MAPS = 12,
	BPF_MAP_TYPE_SK_STORAGE = 24,
	BPF_MAP_TYPE_RINGBUF = 27,
};

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct net {
	u64 net_cookie;
};

typedef struct {
	struct net *net;
} possible_net_t;

struct net_device {
	unsigned long state;	/* bit LINK_STATE_START: it is up */
	u8 reg_state;
	int ifindex;
	possible_net_t nd_net;
};

struct netdev_queue {
	unsigned long state;	/* TAKT_QUEUE_STOPPED: by its driver, or by BQL */
	struct net_device *dev;
};

typedef struct {
	__s64 counter;
} atomic64_t;

struct in6_addr {
	union {
		__be32 u6_addr32[4];
	} in6_u;
};

/* Requests and sockets in TIME_WAIT begin with it, too. */
struct sock_common {
	__be32 skc_daddr, skc_rcv_saddr;
	struct in6_addr skc_v6_daddr, skc_v6_rcv_saddr;
	unsigned int skc_hash;
	__be16 skc_dport;
	u16 skc_num;
	unsigned short skc_family;
	volatile unsigned char skc_state;
	possible_net_t skc_net;
	atomic64_t skc_cookie;
	struct sock *skc_listener;	/* of a request */
};

struct dst_entry {
	struct net_device *dev;
};

struct sock {
	struct sock_common __sk_common;
	u16 sk_protocol;
	unsigned long sk_pacing_rate;	/* bytes/s; all ones: not limited */
	unsigned long sk_max_pacing_rate;	/* SO_MAX_PACING_RATE, likewise */
	u32 sk_mark;
	struct dst_entry *sk_dst_cache;	/* its route, if known */
	int sk_wmem_queued;
};

struct sk_buff {
	struct sock *sk;
	__s64 tstamp;
	u8 tstamp_type:2;	/* SKB_CLOCK_* */
	char cb[48];
	unsigned int len, data_len;
	unsigned long _nfct;	/* its connection, by connection tracking; see conntrack.h */
	int skb_iif;		/* the device that it came by; 0: it is of this host */
	__be16 protocol;
	u32 vlan_all;
	u32 mark;
	u16 network_header;
	unsigned int end;
	unsigned char *head, *data;
};

struct skb_shared_info {
	unsigned short gso_size, gso_segs;
};

struct qdisc_skb_cb {
	unsigned int pkt_len;
	unsigned char data[20];
};

struct qdisc_skb_head {
	__u32 qlen;
};

struct gnet_stats_queue {
	__u32 qlen, backlog, drops, requeues, overlimits;
};

struct Qdisc {
	u32 limit, handle, parent;
	struct netdev_queue *dev_queue;
	struct qdisc_skb_head q;
	struct gnet_stats_queue qstats;
};

/* A packet as programs on a device's ingress see it. */
struct __sk_buff {
	__u32 cb[5];
};

struct nlattr;
struct netlink_ext_ack;
struct bpf_sk_buff_ptr {
	struct sk_buff *skb;
};

struct Qdisc_ops {
	int (*enqueue)(struct sk_buff *, struct Qdisc *, struct sk_buff **);
	struct sk_buff *(*dequeue)(struct Qdisc *);
	int (*init)(struct Qdisc *, struct nlattr *, struct netlink_ext_ack *);
	void (*reset)(struct Qdisc *);
	void (*destroy)(struct Qdisc *);
	char id[16];
};

#pragma clang attribute pop

/* Passed to the kernel unchanged: nothing of it is relocated. */
struct bpf_sock_tuple {
	union {
		struct {
			__be32 saddr, daddr;
			__be16 sport, dport;
		} ipv4;
		struct {
			__be32 saddr[4], daddr[4];
			__be16 sport, dport;
		} ipv6;
	};
};

/* The state of bpf_for(). */
struct bpf_iter_num {
	u64 opaque[1];
} __attribute__((aligned(8)));

int bpf_iter_num_new(struct bpf_iter_num *it, int start, int end) __ksym;
int *bpf_iter_num_next(struct bpf_iter_num *it) __ksym;
void bpf_iter_num_destroy(struct bpf_iter_num *it) __ksym;

#define BPF_F_NO_PREALLOC 1
#define BPF_F_MMAPABLE 1024
#define NET_XMIT_SUCCESS 0
#define NET_XMIT_DROP 1
#define NETREG_REGISTERED 1
#define LINK_STATE_START 0
#define TCP_TIME_WAIT 6
#define TCP_CLOSE 7
#define TCP_LISTEN 10
#define TCP_NEW_SYN_RECV 12
#define IPPROTO_TCP 6
#define BPF_ANY 0
#define SKB_CLOCK_TAI 2
#define TC_H_ROOT 0xFFFFFFFFU
#define EINVAL 22

void *bpf_rdonly_cast(const void *obj, u32 btf_id) __ksym;
void bpf_kfree_skb(struct sk_buff *skb) __ksym;
void bpf_qdisc_skb_drop(struct sk_buff *skb, struct bpf_sk_buff_ptr *to_free) __ksym;
void bpf_qdisc_watchdog_schedule(struct Qdisc *sch, u64 expire, u64 delta_ns) __ksym;
void bpf_qdisc_bstats_update(struct Qdisc *sch, const struct sk_buff *skb) __ksym;

#endif
