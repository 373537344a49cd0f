/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The connection cache: the entity that a connection's last packet went to, so that headers need
 * not be read again. An entry is valid within the configuration that it was made in, if all
 * packets of a connection fall into one class (takt_plan.sticky).
 */
#ifndef TAKT_CONNECTION_CACHE_H
#define TAKT_CONNECTION_CACHE_H

#include "flow.h"

#define TAKT_CONNECTIONS 65536

struct takt_connection {
	u64 identity;
	u32 known_in;	/* takt_known_in() of the configuration that it was made in */
	u16 id;		/* an entity's */
	u16 pad;
};

struct takt_connections {
	struct takt_connection at[TAKT_CONNECTIONS];
};

/* The lowest bit says that the connection's packets go short ways, see short_way.h. */
TAKT_FN u32 takt_known_in(u32 generation, u32 by_short_ways)
{
	return generation << 1 | by_short_ways;
}

TAKT_FN struct takt_connection *takt_connection(struct takt_connections *connections,
						u64 identity)
{
	/* An identity is the sum of a product, whose topmost bits every bit affects. */
	return &connections->at[identity >> 48 & (TAKT_CONNECTIONS - 1)];
}

/* The entity of the connection's packets, or 0: not cached. */
TAKT_FN u32 takt_connection_entity(const struct takt_connection *connection,
				   struct takt_flows *flows, u64 identity, u32 generation)
{
	u32 id = connection->id;

	if (connection->identity != identity ||
	    (connection->known_in & ~1U) != takt_known_in(generation, 0))
		return 0;
	if (id >= TAKT_FLOW_FIRST && takt_flow(flows, id)->connection != identity)
		return 0;
	return id;
}

/* Likewise, by its identity. */
TAKT_FN u32 takt_connection_find(struct takt_connections *connections,
				 struct takt_flows *flows, u64 identity, u32 generation)
{
	return takt_connection_entity(takt_connection(connections, identity), flows, identity,
				      generation);
}

/* Cache the entity of the connection's packets for this configuration. */
TAKT_FN void takt_connection_note(struct takt_connections *connections, u64 identity,
				  u32 generation, u32 id)
{
	struct takt_connection *connection = takt_connection(connections, identity);

	connection->identity = identity;
	connection->known_in = takt_known_in(generation, 0);
	connection->id = id;
}

#endif
