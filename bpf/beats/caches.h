/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Ordinary threads wait in one queue for each last-level cache: CPUs of different caches do not
 * wait for each other's lock, and a thread stays near its data. A CPU takes the first of its own
 * cache's queue. It takes one of another cache's
 *   - before it would idle: no CPU idles while a thread waits that may run there;
 *   - after a tick, if that queue's first is behind its own by more than a run. So threads that
 *     never sleep get equal parts, though some caches have more of them than others.
 * The second needs one virtual time for all queues. With one for each, a thread's would have to be
 * converted when it changes the cache, and a queue that falls behind could not be seen.
 */
#ifndef TAKT_CACHES_H
#define TAKT_CACHES_H

#include "member.h"

/* A queue may begin with threads that may not run on this CPU: so many are looked at. */
#define LOOKED_THROUGH_MAX 16U

/* The least virtual time in a queue. */
static __always_inline u64 fair_first(u64 queue, u64 otherwise)
{
	struct task_struct *p;
	u64 vtime = otherwise;

	bpf_for_each(scx_dsq, p, queue, 0) {
		vtime = p->scx.dsq_vtime;
		break;
	}
	return vtime;
}

/* Likewise, of threads that may run on this CPU. */
static __always_inline u64 fair_first_for(u32 cpu, u64 queue, u64 otherwise)
{
	struct task_struct *p;
	u64 vtime = otherwise;
	u32 count = 0;

	bpf_for_each(scx_dsq, p, queue, 0) {
		if (bpf_cpumask_test_cpu(cpu, p->cpus_ptr)) {
			vtime = p->scx.dsq_vtime;
			break;
		}
		if (++count >= LOOKED_THROUGH_MAX)
			break;
	}
	return vtime;
}

/*
 * Charge the time since it came to the CPU, or since the last call, as the kernel counts it just
 * before: from switch to switch. (By any later clock the switches themselves are no thread's,
 * and those that do little else get too much.)
 */
static __always_inline void charge(struct task_struct *p, struct takt_cpu *c)
{
	u64 now_ns = p->se.exec_start, ran_ns = now_ns - c->since_clock_ns;

	if (c->tier == TIER_NETWORK)
		network_charge(c, ran_ns);
	else if (c->tier == TIER_ORDINARY) {
		ordinary_charge(p, ran_ns);
		c->ordinary_ns += ran_ns;
	}
	c->since_clock_ns = now_ns;
}

/* Does prev go on? Members have turns, and come by their queues. */
static __always_inline int go_on(struct task_struct *prev, struct takt_cpu *c)
{
	const struct takt_thread *thread;

	if (!prev || c->tier == TIER_NONE || !(prev->scx.flags & SCX_TASK_QUEUED))
		return 0;
	thread = marked_thread_of(prev);
	if (thread && (thread->reservation || thread->calibrates))
		return 0;
	charge(prev, c);
	if (must_wait(prev))
		return 0;
	if (c->tier == TIER_ORDINARY)
		fair_running(prev, c);
	prev->scx.slice = slice_ns;
	return 1;
}

/* Does prev go on if there is no other thread? See go_on(). */
static __always_inline int wants_on(const struct task_struct *prev, const struct takt_cpu *c)
{
	return prev && (c->tier == TIER_ORDINARY || c->tier == TIER_NETWORK) &&
	       prev->scx.flags & SCX_TASK_QUEUED;
}

/*
 * Take a thread of another cache if it is behind all that this CPU could run instead. One cache is
 * compared after each tick, in turn: looking at a queue takes its lock, and there may be many.
 */
__noinline int takt_beats_level(u32 cpu, u64 own)
{
	const struct takt_beats *host = beats();
	struct takt_cpu *c = cpu_of(cpu);
	u64 other;
	u32 llc;

	if (!c || !host)
		return 0;
	llc = c->compared + 1;
	if (llc == c->llc)
		llc++;
	if (llc >= host->llc_count)
		llc = c->llc ? 0 : 1;
	c->compared = llc;
	if (scx_bpf_dsq_nr_queued(QUEUE_ORDINARY + llc) <= 0)
		return 0;
	set_aside(llc);
	other = fair_first_for(cpu, QUEUE_ORDINARY + llc, own);
	return is_before(other + RUN_NS, own) && scx_bpf_dsq_move_to_local(QUEUE_ORDINARY + llc);
}

/*
 * After a tick: a thread of another cache, or prev once more if it is behind all that wait. Else
 * two threads on one CPU would have equal parts, whatever their weights.
 */
static __always_inline int dispatch_after_tick(const struct takt_beats *host, struct takt_cpu *c,
					       u32 cpu, struct task_struct *prev)
{
	int is_divided = host->llc_count > 1;
	int runs = c->tier == TIER_ORDINARY && wants_on(prev, c);
	u64 running = runs ? fair_running_vtime(c) : virtual_now, first;

	c->ticked = 0;
	if (!runs && !is_divided)
		return 0;
	first = fair_first_for(cpu, QUEUE_ORDINARY + c->llc, running);
	runs = runs && is_before(running, first);
	if (is_divided && takt_beats_level(cpu, runs ? running : first))
		return 1;
	return runs && scx_bpf_dsq_nr_queued(QUEUE_STRAY + cpu) <= 0 && go_on(prev, c);
}

/* Nothing waits for this cache's CPUs: take a thread of another, beginning after this one. */
__noinline int takt_beats_steal(u32 own)
{
	const struct takt_beats *host = beats();
	u32 i, count = host ? host->llc_count : 0;

	bpf_for(i, 1, count) {
		u32 llc = own + i < count ? own + i : own + i - count;

		set_aside(llc);
		if (scx_bpf_dsq_move_to_local(QUEUE_ORDINARY + llc))
			return 1;
	}
	return 0;
}

static __always_inline int fair_dispatch(const struct takt_beats *host, struct takt_cpu *c, u32 cpu,
					 struct task_struct *prev)
{
	u64 strays = QUEUE_STRAY + cpu, own = QUEUE_ORDINARY + c->llc;

	if (c->ticked && dispatch_after_tick(host, c, cpu, prev))
		return 1;
	if (c->strays) {
		u64 never = virtual_now + (1ULL << 62);

		c->strays = scx_bpf_dsq_nr_queued(strays) > 0;
		if (c->strays && is_before(fair_first(strays, never), fair_first(own, never)) &&
		    scx_bpf_dsq_move_to_local(strays))
			return 1;
	}
	if (scx_bpf_dsq_move_to_local(own))
		return 1;
	return host->llc_count > 1 && !wants_on(prev, c) && takt_beats_steal(c->llc);
}

/*
 * Find a thread to run between the slots. Looking at a queue is expensive, so those that are
 * seldom in use are looked at when a thread has gone there (network_waits, strays), at every
 * tick, and before the CPU would idle.
 */
static __always_inline int free_dispatch(const struct takt_beats *host, struct takt_cpu *c, u32 cpu,
					 struct task_struct *prev)
{
	if (c->network_debt_ns > NETWORK_SHARE * RUN_NS) {
		c->network_debt_ns -= NETWORK_SHARE * RUN_NS;
		if (fair_dispatch(host, c, cpu, prev))
			return 1;
	}
	if (network_waits) {
		network_waits = scx_bpf_dsq_nr_queued(QUEUE_NETWORK) > 1;
		if (scx_bpf_dsq_move_to_local(QUEUE_NETWORK))
			return 1;
	}
	return fair_dispatch(host, c, cpu, prev) ||
	       scx_bpf_dsq_move_to_local(QUEUE_NETWORK) ||
	       scx_bpf_dsq_move_to_local(QUEUE_STRAY + cpu);
}

#endif
