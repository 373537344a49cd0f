/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The connection cache: the entity that a connection's last packet went to, so that headers need
 * not be read again. An entry is valid within the configuration that it was made in, if all
 * packets of a connection fall into one class (takt_plan.sticky).
 */
#ifndef TAKT_CONNECTION_CACHE_H
#define TAKT_CONNECTION_CACHE_H

#include "flow.h"

#define TAKT_CONNECTIONS 16384

struct takt_connection {
	u64 identity;
	u32 generation;
	u32 id;		/* an entity's */
};

struct takt_connections {
	struct takt_connection at[TAKT_CONNECTIONS];
};

TAKT_FN struct takt_connection *takt_connection(struct takt_connections *connections,
						u64 identity)
{
	return &connections->at[identity * 0x9e3779b97f4a7c15ULL >> 50 & (TAKT_CONNECTIONS - 1)];
}

/* The entity of the connection's packets, or 0: not cached. */
TAKT_FN u32 takt_connection_find(struct takt_connections *connections,
				 struct takt_flows *flows, u64 identity, u32 generation)
{
	struct takt_connection *connection = takt_connection(connections, identity);
	u32 id = connection->id;

	if (connection->identity != identity || connection->generation != generation)
		return 0;
	if (id >= TAKT_FLOW_FIRST && takt_flow(flows, id)->connection != identity)
		return 0;
	return id;
}

/* Cache the entity of the connection's packets for this configuration. */
TAKT_FN void takt_connection_note(struct takt_connections *connections, u64 identity,
				  u32 generation, u32 id)
{
	struct takt_connection *connection = takt_connection(connections, identity);

	connection->identity = identity;
	connection->generation = generation;
	connection->id = id;
}

#endif
