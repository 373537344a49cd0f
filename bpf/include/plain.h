/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a program includes that has to load on old kernels and on kernels without type information
 * (BTF): the stable interface of tc programs and maps, no kernel function and no relocation.
 */
#ifndef TAKT_PLAIN_H
#define TAKT_PLAIN_H

#define TAKT_BPF_PLAIN
#include "scalars.h"

enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_SK_STORAGE = 24,
};

#include <bpf/bpf_helpers.h>

/* As in linux/bpf.h, as far as it is used. */
struct __sk_buff {
	__u32 len;
	__u32 pkt_type;
	__u32 mark;
	__u32 queue_mapping;
	__u32 protocol;
	__u32 vlan_present;
	__u32 vlan_tci;
	__u32 vlan_proto;
	__u32 priority;
	__u32 ingress_ifindex;
	__u32 ifindex;
	__u32 tc_index;
	__u32 cb[5];
	__u32 hash;
	__u32 tc_classid;
	__u32 data;
	__u32 data_end;
	__u32 napi_id;
	__u32 family;
	__u32 remote_ip4;
	__u32 local_ip4;
	__u32 remote_ip6[4];
	__u32 local_ip6[4];
	__u32 remote_port;
	__u32 local_port;
	__u32 data_meta;
	__u64 flow_keys __attribute__((aligned(8)));
	__u64 tstamp;
	__u32 wire_len;
	__u32 gso_segs;
	void *sk __attribute__((aligned(8)));
	__u32 gso_size;
};

/* Let other programs see the packet, too. */
#define TC_ACT_UNSPEC (-1)
#define TC_ACT_OK 0
#define TC_ACT_SHOT 2

#define BPF_SKB_TSTAMP_DELIVERY_MONO 1

#define BPF_F_NO_PREALLOC 1
#define BPF_F_CLONE 512
#define IPPROTO_TCP 6

#endif
