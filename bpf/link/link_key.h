/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The key of one of the link's packets, read in one place. */
#ifndef TAKT_LINK_KEY_H
#define TAKT_LINK_KEY_H

#include "packet.h"

/*
 * A global function: headers have many shapes, and the verifier follows them once instead of with
 * all that comes after. What it needs of the stack is free again when flows are looked for.
 */
__noinline int takt_link_read_key(const struct sk_buff *skb __arg_trusted,
				  struct takt_key *key TAKT_ARG, u32 addresses)
{
	read_key(skb, key, addresses);
	return 0;
}

#endif
