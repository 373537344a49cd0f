/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Virtual time bounds how far a thread is behind its part, not how long it waits: one of nice 19
 * beside 115 of nice 0 waits for 31 s, and the kernel ends a scheduler that lets one wait for 30.
 * So the thread that has waited longest for a CPU goes first, at one tick in four once it has
 * waited for some seconds, and at every tick before it becomes dangerous. Its time is charged as
 * any other, so that weights hold over a longer time.
 *
 * With n threads that never sleep the wait is at most URGENT_NS and one run of each.
 */
#ifndef TAKT_OVERDUE_H
#define TAKT_OVERDUE_H

#include "caches.h"
#include "waiting.h"

#define OVERDUE_NS 3000000000ULL
#define OVERDUE_EVERY_NS (4 * RUN_NS)
#define URGENT_NS 8000000000ULL

/* Queues by virtual time. */
static __always_inline int is_fair_queue(u64 queue)
{
	return (queue >= QUEUE_ORDINARY && queue < QUEUE_ORDINARY + TAKT_LLCS) ||
	       (queue >= QUEUE_STRAY && queue < QUEUE_MEMBER);
}

/* Take the thread out of its queue, to run on this CPU. */
static __always_inline int take_overdue(u32 cpu, int tid)
{
	struct task_struct *p = bpf_task_from_pid(tid), *first;
	u64 queue;
	int taken = 0;

	if (!p)
		return 0;
	queue = BPF_CORE_READ(p, scx.dsq, id);
	if (is_fair_queue(queue) && may_be_on(p, cpu)) {
		bpf_for_each(scx_dsq, first, queue, 0) {
			/* Fails if it left the queue meanwhile. */
			taken = scx_bpf_dsq_move(THIS_WALK, p, SCX_DSQ_LOCAL, 0);
			break;
		}
	}
	bpf_task_release(p);
	return taken;
}

/* After a tick: is a thread overdue? Then it is this CPU's next. */
__noinline int takt_beats_overdue(u32 cpu)
{
	u64 now_ns = bpf_ktime_get_ns(), waits, waited_ns;
	struct takt_cpu *c = cpu_of(cpu);
	const struct rq *rq;

	if (!c || !bpf_ksym_exists(&runqueues))
		return 0;
	rq = bpf_per_cpu_ptr(&runqueues, cpu);
	if (!rq || waits_since_ns(first_waiting(rq)) < OVERDUE_NS)
		return 0;
	waits = longest_waiting(rq);
	waited_ns = waits_since_ns(waits >> TID_BITS);
	if (!waits || waited_ns < OVERDUE_NS ||
	    (waited_ns < URGENT_NS && now_ns - c->overdue_ns < OVERDUE_EVERY_NS))
		return 0;
	if (!take_overdue(cpu, waits & ((1U << TID_BITS) - 1)))
		return 0;
	c->overdue_ns = now_ns;
	c->ticked = 0;
	return 1;
}

#endif
