/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The ring of a station's entities: one in every class that sends to the station, linked through
 * their flows, so that a new weight reaches each of them.
 */
#ifndef TAKT_STATION_RING_H
#define TAKT_STATION_RING_H

#include "flow.h"

/* Add the entity to its station's ring, as the last. */
TAKT_FN void takt_station_join(struct takt_flows *flows, u32 number, u32 id)
{
	struct takt_station *station = takt_station(&flows->stations, number);
	struct takt_flow *flow = takt_flow(flows, id), *first;

	flow->station = number;
	flow->next_of = flow->prev_of = id;
	if (station->first) {
		first = takt_flow(flows, station->first);
		flow->next_of = station->first;
		flow->prev_of = first->prev_of;
		takt_flow(flows, first->prev_of)->next_of = id;
		first->prev_of = id;
	} else {
		station->first = id;
	}
	station->entities++;
}

/* Remove the entity from its ring. */
TAKT_FN void takt_station_part(struct takt_flows *flows, u32 id)
{
	struct takt_flow *flow = takt_flow(flows, id);
	struct takt_station *station = takt_station(&flows->stations, flow->station);

	takt_flow(flows, flow->next_of)->prev_of = flow->prev_of;
	takt_flow(flows, flow->prev_of)->next_of = flow->next_of;
	if (station->first == id)
		station->first = flow->next_of == id ? 0 : flow->next_of;
	station->entities--;
	flow->station = 0;
}

#endif
