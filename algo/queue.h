/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Queues of packets, as chains of numbers.
 *
 * A packet is its place in a plain array; the packet itself lies outside, in a
 * store with the same places. All queues of a link share the places.
 *
 * Order across a change of policy or of registrations: a packet that goes into
 * another queue than it would have before must not overtake packets of its flow
 * that still wait in the old queue. So it remembers how far that queue has to
 * get first. What it waits for was queued before it, always; so nothing can wait
 * in a circle.
 */
#ifndef TAKT_QUEUE_H
#define TAKT_QUEUE_H

#include "abi.h"

#define TAKT_PACKETS 65536		/* places 1..65534; 0 is none */
#define TAKT_EXPRESS (TAKT_PACKETS - 1)	/* the place of a packet that need not wait */

/* A packet whose turn it is has those that it must not overtake leave in its stead. */
#define TAKT_PULLS 0x8000U

struct takt_packet {
	u32 next;
	u32 len;		/* accounted bytes */
	u16 after;		/* the element that has to let out ...; with TAKT_PULLS or not */
	u16 era;		/* that it was queued in; see takt_link.era */
	u32 after_in;		/* ... its packets up to this one; see takt_queue.in */
};

struct takt_places {
	u32 free_head;		/* places given back */
	u32 fresh;		/* places used at least once */
	struct takt_packet packet[TAKT_PACKETS];
};

struct takt_queue {
	u32 head, tail;
	u32 packets;
	u32 in;			/* packets ever queued; the last one's number */
	u32 change_in;		/* `in`, when the era began ... */
	u32 era;		/* ... that change_in speaks of */
	u64 bytes;
};

TAKT_FN struct takt_packet *takt_packet(struct takt_places *places, u32 place)
{
	return &places->packet[place & (TAKT_PACKETS - 1)];
}

/* A free place, or 0. */
TAKT_FN u32 takt_place_take(struct takt_places *places)
{
	u32 place = places->free_head;

	if (place) {
		places->free_head = takt_packet(places, place)->next;
		return place;
	}
	if (places->fresh >= TAKT_EXPRESS - 1)
		return 0;
	return ++places->fresh;
}

/* Append the packet in this place. */
TAKT_FN void takt_queue_push(struct takt_queue *queue, struct takt_places *places,
			     u32 place, u32 len, u32 era)
{
	struct takt_packet *packet = takt_packet(places, place);

	if (queue->era != era) {
		queue->era = era;
		queue->change_in = queue->in;
	}
	packet->next = 0;
	packet->len = len;
	packet->after = 0;
	packet->era = era;
	if (queue->packets)
		takt_packet(places, queue->tail)->next = place;
	else
		queue->head = place;
	queue->tail = place;
	queue->packets++;
	queue->in++;
	queue->bytes += len;
}

/* Unchain the first packet and give its place back; the queue is not empty. */
TAKT_FN struct takt_packet *takt_queue_pop(struct takt_queue *queue,
					   struct takt_places *places)
{
	u32 place = queue->head;
	struct takt_packet *packet = takt_packet(places, place);

	queue->head = packet->next;
	queue->packets--;
	queue->bytes -= packet->len;
	packet->next = places->free_head;
	places->free_head = place;
	return packet;
}

/* Up to which packet were they queued before this era? */
TAKT_FN u32 takt_queue_old_in(const struct takt_queue *queue, u32 era)
{
	return queue->era == era ? queue->change_in : queue->in;
}

/* Has the queue let out everything up to packet `in`? */
TAKT_FN int takt_queue_past(const struct takt_queue *queue, u32 in)
{
	return (int)(queue->in - queue->packets - in) >= 0;
}

#endif
