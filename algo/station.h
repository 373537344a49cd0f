/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Stations: receivers over the air, and their weights. (SoCPS: a station with a weak connection
 * gets less, as sending to it costs the others more.)
 *
 * A station has an entity in every class that sends to it, made as flows are (flow_table.h), and
 * found by address and class together. The scale of its entities is its weight (share.h); at
 * weight 0 they are throttled.
 *
 * User space writes the table at any time, without a lock, and marks the entries that it has
 * changed; the link reads it, and applies changes a few at a time:
 *   the address is in the table         the weight beside it
 *   it is not                           weight 1
 *   user space silent for 5 s           weight 1, but for those set by hand
 * An entry that gets another address has a new incarnation; until the link has released its old
 * entities, the new address is not found. Then entities that were made while the address was
 * unknown are looked for.
 */
#ifndef TAKT_STATION_H
#define TAKT_STATION_H

#include "calendar.h"
#include "entity.h"

#define TAKT_STATIONS 256
#define TAKT_STATION_WORDS (TAKT_STATIONS / 64)
#define TAKT_STATIONS_AT_ONCE 16	/* searched by one function */
#define TAKT_STATION_STALE_NS 5000000000ULL	/* 5 s */
/* The interval at which weights are read while no other entity is backlogged. */
#define TAKT_STATION_POLL_NS 5000000

/* What kind of address a link knows stations by. */
#define TAKT_STATIONS_NONE 0
#define TAKT_STATIONS_MAC 1
#define TAKT_STATIONS_IP 2

/*
 * An IPv6 address, first byte on the wire highest; IPv4 in its mapped form; a MAC address behind
 * a word that no station's IPv6 address begins with. All zero: no single station.
 */
struct takt_address {
	u64 word[2];
};

#define TAKT_ADDRESS_MAC (~0ULL)
#define TAKT_ADDRESS_IPV4 0xffff00000000ULL

#define TAKT_STATION_FREE 0
#define TAKT_STATION_THERE 1
#define TAKT_STATION_WRITTEN 2	/* the entry is being written */

struct takt_station {
	/* Written by user space. */
	struct takt_address address;
	u32 state;		/* TAKT_STATION_* */
	u32 weight_ppm;		/* 0..1,000,000 */
	u32 by_hand;		/* stays even if user space is silent */
	u32 incarnation;	/* counts the addresses that this entry has had */
	/* Written by the link. */
	u32 known;		/* the incarnation that its entities belong to */
	u32 applied_ppm;	/* the weight that its entities have, or will soon have */
	u32 entities;
	u32 left;		/* entities still to be given that weight */
	u32 hand;		/* entities up to here were searched for its own */
	u16 first;		/* of a ring of entities; 0: none */
	u16 pad;
	struct takt_class_stats past;	/* of entities that were removed */
};

struct takt_stations {
	/* Written by user space; it sets `changed` and the link clears it. */
	u64 beat_ns;		/* the program that knows the weights was alive */
	u32 generation;		/* counts addresses that came or went */
	u32 changes;		/* counts changes; raised after `changed` */
	u64 changed[TAKT_STATION_WORDS];
	/* Written by the link. */
	u64 pending[TAKT_STATION_WORDS];
	u32 seen;		/* of `changes` */
	u32 unsettled;		/* some station is pending */
	u32 stale;
	u32 pad;
	struct takt_station at[TAKT_STATIONS];
};

/* A station's number: its index plus one, so that 0 is none. */
TAKT_FN struct takt_station *takt_station(struct takt_stations *stations, u32 number)
{
	return &stations->at[(number - 1) & (TAKT_STATIONS - 1)];
}

TAKT_FN int takt_address_is(const struct takt_address *address)
{
	return (address->word[0] | address->word[1]) != 0;
}

/* A unicast MAC address, its first byte highest; any other is no single station. */
TAKT_FN void takt_address_mac(struct takt_address *address, u64 mac)
{
	int alone = !(mac >> 40 & 1);

	address->word[0] = alone ? TAKT_ADDRESS_MAC : 0;
	address->word[1] = alone ? mac : 0;
}

/* A packet's destination by its IP header; multicast and broadcast are no single station. */
TAKT_FN void takt_address_ip(struct takt_address *address, const struct takt_key *key)
{
	u64 first = __builtin_bswap32(key->dst[0]);

	address->word[0] = address->word[1] = 0;
	if (key->family == TAKT_FAMILY_IPV4 && first >> 28 < 14) {
		address->word[1] = TAKT_ADDRESS_IPV4 | first;
	} else if (key->family == TAKT_FAMILY_IPV6 && first >> 24 != 0xff) {
		address->word[0] = first << 32 | __builtin_bswap32(key->dst[1]);
		address->word[1] = (u64)__builtin_bswap32(key->dst[2]) << 32 |
				   __builtin_bswap32(key->dst[3]);
	}
}

/* The number by which a station's entity in this class is found. */
TAKT_FN u64 takt_station_identity(const struct takt_address *address, u32 class_id, u64 secret)
{
	u64 sum = (address->word[0] ^ (u64)class_id << 32) * (secret | 1);

	sum = (sum ^ sum >> 32 ^ address->word[1]) * (secret * 0x94d049bb133111ebULL | 1);
	sum ^= sum >> 31;
	return sum ? sum : 1;
}

/* The station of this address among the next few entries, or 0. */
TAKT_FN_OUT u32 takt_station_find_from(const struct takt_stations *stations TAKT_ARG,
				       const struct takt_address *address TAKT_ARG, u32 entry)
{
	u32 i;

	for (i = 0; i < TAKT_STATIONS_AT_ONCE; i++, entry++) {
		const struct takt_station *station = &stations->at[entry & (TAKT_STATIONS - 1)];

		if (station->address.word[1] == address->word[1] &&
		    station->address.word[0] == address->word[0] &&
		    station->state == TAKT_STATION_THERE)
			return (entry & (TAKT_STATIONS - 1)) + 1;
	}
	return 0;
}

/* The station of this address, or 0: unknown. */
TAKT_FN_OUT u32 takt_station_find(const struct takt_stations *stations TAKT_ARG,
				  const struct takt_address *address TAKT_ARG)
{
	u32 number = 0, entry;

	for (entry = 0; entry < TAKT_STATIONS && !number; entry += TAKT_STATIONS_AT_ONCE)
		number = takt_station_find_from(stations, address, entry);
	return number;
}

/* The weight that a station's entities should have now; on a link without stations, 1. */
TAKT_FN u32 takt_station_weight(const struct takt_stations *stations,
				const struct takt_station *station, u32 of_plan)
{
	if (!of_plan || station->state != TAKT_STATION_THERE ||
	    (stations->stale && !station->by_hand))
		return TAKT_SCALE_WHOLE;
	return takt_min(station->weight_ppm, TAKT_SCALE_WHOLE);
}

/* The entry has no entities of its former address left: it now belongs to the new one. */
TAKT_FN void takt_station_adopt(const struct takt_stations *stations,
				struct takt_station *station, u32 of_plan)
{
	station->known = station->incarnation;
	station->applied_ppm = takt_station_weight(stations, station, of_plan);
	station->left = 0;
	station->hand = 0;
	station->past = (struct takt_class_stats){};
}

/* Are there changed weights that some entities do not have yet? */
TAKT_FN int takt_stations_unsettled(const struct takt_stations *stations)
{
	return stations->unsettled || stations->seen != stations->changes;
}

/* Every station may have another weight now: user space fell silent, or is back. */
TAKT_FN void takt_stations_review(struct takt_stations *stations)
{
	u32 i;

	for (i = 0; i < TAKT_STATION_WORDS; i++)
		stations->pending[i] = ~0ULL;
	stations->unsettled = 1;
}

/* Note what has changed, and whether user space is alive. */
TAKT_FN void takt_stations_observe(struct takt_stations *stations, u64 now_ns)
{
	u32 stale = stations->beat_ns + TAKT_STATION_STALE_NS < now_ns, i;

	if (stations->stale != stale) {
		stations->stale = stale;
		takt_stations_review(stations);
	}
	if (stations->seen == stations->changes)
		return;
	stations->seen = stations->changes;
	for (i = 0; i < TAKT_STATION_WORDS; i++)
		stations->pending[i] |= __sync_fetch_and_and(&stations->changed[i], 0ULL);
	stations->unsettled = 1;
}

/* A station that may have changed, or 0: none is left. */
TAKT_FN_OUT u32 takt_stations_pending(struct takt_stations *stations TAKT_ARG)
{
	u32 i;

	for (i = 0; i < TAKT_STATION_WORDS; i++) {
		if (stations->pending[i])
			return i * 64 + takt_lowest_bit(stations->pending[i]) + 1;
	}
	stations->unsettled = 0;
	return 0;
}

TAKT_FN void takt_station_settled(struct takt_stations *stations, u32 number)
{
	u32 entry = (number - 1) & (TAKT_STATIONS - 1);

	stations->pending[entry / 64] &= ~(1ULL << (entry % 64));
}

#endif
