/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The parts of the kernel's connection tracking that Takt's programs read: of both directions of a
 * connection, the addresses that its packets have where they come from. Behind NAT, the source of
 * one direction is not the destination of the other.
 */
#ifndef TAKT_CONNTRACK_H
#define TAKT_CONNTRACK_H

#include "kernel.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

union nf_inet_addr {
	__u32 all[4];
};

struct nf_conntrack_man {
	union nf_inet_addr u3;
};

struct nf_conntrack_tuple {
	struct nf_conntrack_man src;
};

struct nf_conntrack_tuple_hash {
	struct nf_conntrack_tuple tuple;
};

struct nf_conn {
	struct nf_conntrack_tuple_hash tuplehash[2];	/* by direction: original, reply */
};

#pragma clang attribute pop

#endif
