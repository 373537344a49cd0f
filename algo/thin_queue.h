/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Thinning in a link's queues: a pure acknowledgement that arrives takes the place of its flow's
 * last one, by the conditions of thin.h.
 *
 * The place, and with it the time for which CoDel says it was queued, is the older one's, so the
 * newer one arrives no later than the older one would have. The flows' last acknowledgements are
 * in a cache by the flow's number: flows with the same place there are thinned less.
 *
 * An entry is valid while its packet is queued. Queues lose packets at the head only, so that is
 * so until the queue is past the packet's number.
 */
#ifndef TAKT_THIN_QUEUE_H
#define TAKT_THIN_QUEUE_H

#include "link_state.h"

TAKT_FN struct takt_queued_ack *takt_queued_ack(struct takt_acks *acks, u64 flow)
{
	return &acks->at[flow * 0x9e3779b97f4a7c15ULL >> 54 & (TAKT_ACKS - 1)];
}

/* A packet of this length takes the place of the queued one in this slot. */
TAKT_FN void takt_thin_exchange(struct takt_order *order, u32 id, u32 slot, u32 len)
{
	struct takt_packet *packet = takt_packet(&order->slots, slot);
	struct takt_entity *entity = takt_entity(order, id);
	u32 class_id = entity->turn.class_id;

	takt_count_arrival(entity, len);
	entity->stats.thinned_packets++;
	entity->stats.thinned_bytes += packet->len;
	entity->queue.bytes += len - (u64)packet->len;
	if (class_id && class_id != id)
		takt_entity(order, class_id)->flows.bytes += len - (u64)packet->len;
	packet->len = len;
}

/*
 * An acknowledgement of this length arrives for an entity: the packet slot of the one that it
 * replaces, or 0.
 */
TAKT_FN_OUT u32 takt_thin(struct takt_acks *acks TAKT_ARG, struct takt_order *order TAKT_ARG,
			  const struct takt_ack *ack TAKT_ARG, u32 id, u32 len)
{
	struct takt_queued_ack *last = takt_queued_ack(acks, ack->flow);

	if (last->id != id || takt_queue_past(&takt_entity(order, id)->queue, last->in) ||
	    !takt_thin_replaces(&last->ack, ack))
		return 0;
	last->ack = *ack;
	takt_thin_exchange(order, id, last->slot, len);
	return last->slot;
}

/* It was queued in this slot, as the last packet of its entity. */
TAKT_FN_OUT int takt_thin_note(struct takt_acks *acks TAKT_ARG, struct takt_order *order TAKT_ARG,
			       const struct takt_ack *ack TAKT_ARG, u32 id, u32 slot)
{
	struct takt_queued_ack *last = takt_queued_ack(acks, ack->flow);

	last->ack = *ack;
	last->id = id;
	last->in = takt_entity(order, id)->queue.in;
	last->slot = slot;
	return 0;
}

#endif
