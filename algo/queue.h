/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Queues of packets, as chains of numbers.
 *
 * A packet is its packet slot, an index into an array; the packet itself is outside, in a store
 * with the same slots. All queues of a link share the slots.
 *
 * Order across a change of policy or of registrations: a packet that goes into another queue than
 * before must not overtake packets of its flow in the old queue. So it notes which packet of that
 * queue has to leave first. That packet was always queued earlier, so there are no cycles.
 */
#ifndef TAKT_QUEUE_H
#define TAKT_QUEUE_H

#include "abi.h"

#define TAKT_PACKETS 65536		/* slots 1..65534; 0 is none */
#define TAKT_FAST_PATH (TAKT_PACKETS - 1)	/* the slot of a packet on the fast path */

/* In this packet's turn, a packet that it must not overtake leaves instead. */
#define TAKT_PULLS 0x8000U

struct takt_packet {
	u32 next;
	u32 len : 30;		/* accounted bytes */
	u32 ecn : 2;		/* TAKT_ECN_* */
	u16 after;		/* the entity that must send first ...; with TAKT_PULLS or not */
	u16 generation;		/* takt_link.generation when it was queued */
	u32 after_in;		/* ... its packets up to this one; see takt_queue.in */
	u32 queued_us;		/* when it was queued, see codel.h; 0: it is never dropped later */
};

struct takt_packet_slots {
	u32 free_head;		/* free slots */
	u32 fresh;		/* slots used at least once */
	struct takt_packet packet[TAKT_PACKETS];
};

struct takt_queue {
	u32 head, tail;
	u32 packets;
	u32 in;			/* packets ever queued; the last one's number */
	u32 change_in;		/* `in` when the configuration changed ... */
	u32 generation;		/* ... to this one, see takt_link.generation */
	u64 bytes;
};

TAKT_FN struct takt_packet *takt_packet(struct takt_packet_slots *slots, u32 slot)
{
	return &slots->packet[slot & (TAKT_PACKETS - 1)];
}

/* A free slot, or 0. */
TAKT_FN u32 takt_packet_slot_take(struct takt_packet_slots *slots)
{
	u32 slot = slots->free_head;

	if (slot) {
		slots->free_head = takt_packet(slots, slot)->next;
		return slot;
	}
	if (slots->fresh >= TAKT_FAST_PATH - 1)
		return 0;
	return ++slots->fresh;
}

/* Append the packet in this slot; `after` and queued_us are the caller's. */
TAKT_FN void takt_queue_push(struct takt_queue *queue, struct takt_packet_slots *slots,
			     u32 slot, u32 len, u32 generation)
{
	struct takt_packet *packet = takt_packet(slots, slot);

	if (queue->generation != generation) {
		queue->generation = generation;
		queue->change_in = queue->in;
	}
	packet->next = 0;
	packet->len = len;
	packet->generation = generation;
	if (queue->packets)
		takt_packet(slots, queue->tail)->next = slot;
	else
		queue->head = slot;
	queue->tail = slot;
	queue->packets++;
	queue->in++;
	queue->bytes += len;
}

TAKT_FN void takt_packet_slot_free(struct takt_packet_slots *slots, u32 slot)
{
	takt_packet(slots, slot)->next = slots->free_head;
	slots->free_head = slot;
}

/* Remove the first packet and free its slot; the queue is not empty. */
TAKT_FN struct takt_packet *takt_queue_pop(struct takt_queue *queue,
					   struct takt_packet_slots *slots)
{
	u32 slot = queue->head;
	struct takt_packet *packet = takt_packet(slots, slot);

	queue->head = packet->next;
	queue->packets--;
	queue->bytes -= packet->len;
	takt_packet_slot_free(slots, slot);
	return packet;
}

/* The last packet that was queued before this configuration. */
TAKT_FN u32 takt_queue_old_in(const struct takt_queue *queue, u32 generation)
{
	return queue->generation == generation ? queue->change_in : queue->in;
}

/* Have all packets up to `in` left the queue? */
TAKT_FN int takt_queue_past(const struct takt_queue *queue, u32 in)
{
	return (int)(queue->in - queue->packets - in) >= 0;
}

#endif
