/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The steps of the test vectors in algo/vectors/: one call of algo/ each. These lines run
 * natively and, in vectors.bpf.c, in BPF inside the kernel, and must produce the same bytes.
 */
#ifndef TAKT_VECTORS_H
#define TAKT_VECTORS_H

#include "headers.h"
#include "link.h"
#include "slots.h"
#include "soc.h"
#include "turns.h"
#include "window.h"

#define TAKT_VECTOR_PACKET_BYTES 256

/* The state that the steps change. */
struct takt_vector_state {
	struct takt_clock clock;
	struct takt_clock_params clock_params;
	struct takt_calendar calendar;
	struct takt_shelf shelf;
	struct takt_link link;
	struct takt_plan plan;
	struct takt_arrival arrival;	/* not on the stack, as calls are deep */
	struct takt_choice choice;
	struct takt_key key;
	struct takt_newcomer newcomer;
	struct takt_table table;
	struct takt_span span;
	struct takt_turns turns;
	struct takt_turns_params turns_params;
	struct takt_soc soc;
	struct takt_soc_params soc_params;
	struct takt_soc_stats soc_stats;
	struct takt_window window;
	struct takt_window_params window_params;
	struct takt_window_group window_group;
	struct takt_window_sample window_sample;
	struct takt_window_bounds window_bounds;
	struct takt_round_trips round_trips;
	u32 packet[TAKT_VECTOR_PACKET_BYTES / 4];
};

#define TAKT_VECTOR_CLOCK_START 1	/* now */
#define TAKT_VECTOR_CLOCK_SPEND 2	/* from, now, bytes */
#define TAKT_VECTOR_INSERT 3		/* id, now; due_ns is in the entry */
#define TAKT_VECTOR_FIRST 4		/* now; answers an entry */
#define TAKT_VECTOR_REMOVE 5		/* id */
#define TAKT_VECTOR_ENQUEUE 6		/* id, before, bytes, frames, idle, task_prio,
					 * now; answers a packet slot */
#define TAKT_VECTOR_DEQUEUE 7		/* now */
#define TAKT_VECTOR_FLUSH 8		/* answers a packet slot, or 0 */
#define TAKT_VECTOR_FLUSH_FAST_PATH 9
#define TAKT_VECTOR_CLASSIFY 10		/* ethertype, bytes, key.mark; answers a class */
#define TAKT_VECTOR_RUNNING 11		/* task_prio */
#define TAKT_VECTOR_LOOK 12		/* now; answers whether a slot is open */
#define TAKT_VECTOR_JOB 13		/* now; answers a job */
#define TAKT_VECTOR_LEFT 14		/* job; answers what is left of its budget */
#define TAKT_VECTOR_CHARGE 15		/* job, from, now */
#define TAKT_VECTOR_YIELD 16		/* job; answers whether it is done */
#define TAKT_VECTOR_STATION 17		/* id, mac, now; answers an entity */
#define TAKT_VECTOR_SOC_REPORT 18	/* soc, now; answers a weight, and soc */
#define TAKT_VECTOR_SOC_TICK 19		/* now; answers a weight, and soc */
#define TAKT_VECTOR_SOC_WEIGHT 20	/* soc; answers a weight */
#define TAKT_VECTOR_WINDOW_HEAR 21	/* job: rate, from: its limit, idle: lends */
#define TAKT_VECTOR_WINDOW_REMEMBER 22	/* answers the capacity */
#define TAKT_VECTOR_WINDOW_UPDATE 23	/* window_sample; answers the upper bound */
#define TAKT_VECTOR_WINDOW_BOUND 24	/* id: window, idle: after a timeout; answers one */
#define TAKT_VECTOR_WINDOW_BEGIN 25	/* window_sample; answers the upper bound */
#define TAKT_VECTOR_ROUND_TRIP 26	/* now, id: one, before: the smoothed one; answers a
					 * standing one, or 0 */
#define TAKT_VECTOR_PASS 27		/* job, id: the chosen member, before: those that
					 * wait; answers whether it is done */

struct takt_vector_step {
	u32 op;
	u32 id;			/* of a class or an entry */
	u32 before, bytes, frames, idle;
	u32 ethertype, task_prio;
	s32 soc_centidb;	/* in, and out */
	u32 pad;
	u64 from_ns, now_ns, job, mac;
	u64 answer, wake_ns;	/* out */
};

/* A packet arrives: its packet slot, or 0. */
static __attribute__((noinline, unused)) u32
takt_vector_push(struct takt_vector_state *state, const struct takt_vector_step *step)
{
	state->arrival = (struct takt_arrival){
		.id = step->id,
		.before = step->before,
		.bytes = step->bytes,
		.frames = step->frames,
		.idle = step->idle,
		.task_prio = step->task_prio,
		.now_ns = step->now_ns,
	};

	return takt_link_push(&state->link, &state->plan, &state->arrival);
}

/* The entity of a station in a class, made if it is missing. */
TAKT_FN u32 takt_vector_station(struct takt_vector_state *state,
				const struct takt_vector_step *step)
{
	struct takt_newcomer *newcomer = &state->newcomer;
	struct takt_link *link = &state->link;
	u32 id;

	takt_address_mac(&newcomer->to, step->mac);
	newcomer->class_id = step->id;
	id = takt_station_entity(link, &newcomer->to, step->id);
	if (id && takt_station_is_settled(link, takt_flow(&link->flows, id)))
		return id;
	return takt_station_newcomer(link, &state->plan, newcomer, id, step->now_ns);
}

/* Clocks and calendars. */
TAKT_FN void takt_vector_order(struct takt_vector_state *state, struct takt_vector_step *step)
{
	u64 wake_ns = 0;

	switch (step->op) {
	case TAKT_VECTOR_CLOCK_START:
		takt_clock_start(&state->clock, step->now_ns);
		break;
	case TAKT_VECTOR_CLOCK_SPEND:
		takt_clock_spend(&state->clock, &state->clock_params, step->from_ns,
				 step->now_ns, step->bytes);
		break;
	case TAKT_VECTOR_INSERT:
		takt_calendar_insert(&state->calendar, &state->shelf, step->id, step->now_ns);
		break;
	case TAKT_VECTOR_FIRST:
		step->answer = takt_calendar_first(&state->calendar, &state->shelf,
						   step->now_ns, &wake_ns);
		step->wake_ns = wake_ns;
		break;
	case TAKT_VECTOR_REMOVE:
		takt_calendar_remove(&state->calendar, &state->shelf, step->id);
		break;
	}
}

/* The packet scheduler. packet_at: see takt_vector_run(). */
TAKT_FN void takt_vector_link(struct takt_vector_state *state, struct takt_vector_step *step,
			      u64 packet_at)
{
	switch (step->op) {
	case TAKT_VECTOR_ENQUEUE:
		step->answer = takt_vector_push(state, step);
		break;
	case TAKT_VECTOR_DEQUEUE:
		takt_link_pop(&state->link, &state->plan, step->now_ns, &state->choice);
		break;
	case TAKT_VECTOR_FLUSH:
		step->answer = takt_link_flush(&state->link);
		break;
	case TAKT_VECTOR_FLUSH_FAST_PATH:
		takt_link_flush_fast_path(&state->link);
		break;
	case TAKT_VECTOR_CLASSIFY:
		takt_key_read(&state->key, step->ethertype, packet_at,
			      packet_at + step->bytes, 1);
		step->answer = takt_classify(&state->plan.rules, &state->key);
		break;
	case TAKT_VECTOR_RUNNING:
		state->link.order.blocked.running = step->task_prio;
		break;
	case TAKT_VECTOR_STATION:
		step->answer = takt_vector_station(state, step);
		break;
	}
}

/* Slots and turns. */
TAKT_FN void takt_vector_beats(struct takt_vector_state *state, struct takt_vector_step *step)
{
	switch (step->op) {
	case TAKT_VECTOR_LOOK:
		takt_table_lookup(&state->table, step->now_ns, &state->span);
		step->answer = takt_span_is_open(&state->span, step->now_ns);
		step->wake_ns = takt_span_edge(&state->span, step->now_ns);
		break;
	case TAKT_VECTOR_JOB:
		step->answer = takt_job_at(&state->turns_params, step->now_ns);
		break;
	case TAKT_VECTOR_LEFT:
		step->answer = takt_turns_left(&state->turns, &state->turns_params, step->job);
		break;
	case TAKT_VECTOR_CHARGE:
		takt_turns_charge(&state->turns, step->job, step->now_ns - step->from_ns);
		break;
	case TAKT_VECTOR_YIELD:
		step->answer = takt_turns_yield(&state->turns, &state->turns_params, step->job);
		break;
	case TAKT_VECTOR_PASS:
		step->answer = takt_turns_pass(&state->turns, &state->turns_params, step->job,
					       step->id, step->before);
		break;
	}
}

/* Strengths of connection. */
TAKT_FN void takt_vector_soc(struct takt_vector_state *state, struct takt_vector_step *step)
{
	switch (step->op) {
	case TAKT_VECTOR_SOC_REPORT:
		takt_soc_report(&state->soc, &state->soc_stats, &state->soc_params,
				step->soc_centidb, step->now_ns);
		step->soc_centidb = takt_soc_centidb(&state->soc);
		step->answer = takt_soc_weight(&state->soc_params, step->soc_centidb);
		break;
	case TAKT_VECTOR_SOC_TICK:
		takt_soc_tick(&state->soc, &state->soc_stats, &state->soc_params, step->now_ns);
		step->soc_centidb = takt_soc_centidb(&state->soc);
		step->answer = takt_soc_weight(&state->soc_params, step->soc_centidb);
		break;
	case TAKT_VECTOR_SOC_WEIGHT:
		step->answer = takt_soc_weight(&state->soc_params, step->soc_centidb);
		break;
	}
}

/* Bounds of congestion windows. */
TAKT_FN void takt_vector_window(struct takt_vector_state *state, struct takt_vector_step *step)
{
	switch (step->op) {
	case TAKT_VECTOR_WINDOW_HEAR:
		takt_window_hear(&state->window_group, step->job, step->from_ns, step->idle);
		break;
	case TAKT_VECTOR_WINDOW_REMEMBER:
		takt_window_remember(&state->window_group, &state->window_params);
		step->answer = state->window_group.capacity;
		break;
	case TAKT_VECTOR_WINDOW_UPDATE:
		takt_window_update(&state->window, &state->window_params, &state->window_group,
				   &state->window_sample, &state->window_bounds);
		step->answer = state->window_bounds.upper;
		break;
	case TAKT_VECTOR_WINDOW_BOUND:
		step->answer = takt_window_bound(&state->window_bounds, step->id, step->idle);
		break;
	case TAKT_VECTOR_WINDOW_BEGIN:
		takt_window_begin(&state->window, &state->window_params, &state->window_group,
				  &state->window_sample, &state->window_bounds);
		step->answer = state->window_bounds.upper;
		break;
	case TAKT_VECTOR_ROUND_TRIP:
		step->answer = takt_round_trips_add(&state->round_trips, step->now_ns, step->id,
						    step->before);
		break;
	}
}

/* packet_at is the address of state->packet, as the number that a qdisc gets. */
TAKT_FN void takt_vector_run(struct takt_vector_state *state, struct takt_vector_step *step,
			     u64 packet_at)
{
	if (step->op < TAKT_VECTOR_ENQUEUE)
		takt_vector_order(state, step);
	else if (step->op < TAKT_VECTOR_LOOK || step->op == TAKT_VECTOR_STATION)
		takt_vector_link(state, step, packet_at);
	else if (step->op < TAKT_VECTOR_STATION)
		takt_vector_beats(state, step);
	else if (step->op < TAKT_VECTOR_WINDOW_HEAR)
		takt_vector_soc(state, step);
	else
		takt_vector_window(state, step);
}

#endif
