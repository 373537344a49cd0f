/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Ordinary threads share the free time by weight, which follows from nice. A thread's virtual
 * time grows with the time that it runs, divided by its weight, and the least goes first. Threads
 * that process packets come before them (HiTactix, section 2.3: the third level is the first of
 * the ordinary ones), but leave at least one part in NETWORK_SHARE of the time to ordinary
 * threads that wait.
 */
#ifndef TAKT_FAIR_H
#define TAKT_FAIR_H

#include "state.h"

#define WEIGHT_ONE 100U
/* The time between two ticks of a kernel with few of them: what a thread runs at once. */
#define RUN_NS 4000000ULL
/*
 * A thread may run far longer: the kernel does not preempt everywhere, and a hypervisor may take
 * the CPU away meanwhile. No thread is put back for it by more than RUN_NS cost the lightest
 * (nice 19: 15 of 1,024), or it would starve.
 */
#define AHEAD_MAX_NS (RUN_NS * 1024 / 15)
/*
 * No woken thread preempts one that has run for less: threads that wake others with every message
 * would be preempted at each.
 */
#define RUN_LEAST_NS 200000LL
#define NETWORK_SHARE 8U
#define NETWORK_DEBT_MAX_NS 1000000000U

/* The present virtual time of ordinary threads, in all queues: caches.h compares them by it. */
static u64 virtual_now;
/* A thread that processes packets may be waiting. */
static volatile u32 network_waits;

static __always_inline int is_before(u64 a, u64 b)
{
	return (__s64)(a - b) < 0;
}

/* sysctl_sched_base_slice of the kernel. */
static __always_inline u64 slice_on(u32 cpus)
{
	return SLICE_BASE_NS * (1 + (cpus >= 2) + (cpus >= 4) + (cpus >= 8));
}

/*
 * Preempted in an RCU read-side section? Then all that wait for RCU wait for this thread. Programs
 * run in such a section themselves, which counts as the current thread's.
 */
static __always_inline int reads_rcu(const struct task_struct *p)
{
	int own = bpf_get_current_task_btf()->pid == p->pid;

	return bpf_core_field_exists(p->rcu_read_lock_nesting) && p->rcu_read_lock_nesting > own;
}

static __always_inline void fair_enqueue(struct task_struct *p, u64 queue, u64 enq_flags)
{
	u64 vtime = p->scx.dsq_vtime;

	/* Idle time earns one run, no more. */
	if (is_before(vtime, virtual_now - RUN_NS))
		vtime = virtual_now - RUN_NS;
	/* khugepaged reads RCU for several runs, at nice 19: it gets them as nice 0 would. */
	if (is_before(virtual_now + RUN_NS, vtime) && reads_rcu(p))
		vtime = virtual_now + RUN_NS;
	scx_bpf_dsq_insert_vtime(p, queue, slice_ns, vtime, enq_flags);
}

/* Cheap where the kernel has read the clock already (6.14 on). */
static __always_inline u64 scheduler_clock_ns(void)
{
	return bpf_ksym_exists(scx_bpf_now) ? scx_bpf_now() : bpf_ktime_get_ns();
}

static __always_inline void fair_running(const struct task_struct *p, struct takt_cpu *c)
{
	if (is_before(virtual_now, p->scx.dsq_vtime))
		virtual_now = p->scx.dsq_vtime;
	c->vtime = p->scx.dsq_vtime;
	c->vtime_ns = scheduler_clock_ns();
	c->weight = p->scx.weight;
}

static __always_inline u64 virtual_ns(u64 ran_ns, u32 weight)
{
	return ran_ns * WEIGHT_ONE / (weight ? weight : 1);
}

/* The virtual time of the ordinary thread that runs there, by now. */
static __always_inline u64 fair_running_vtime(const struct takt_cpu *c)
{
	return c->vtime + virtual_ns(scheduler_clock_ns() - c->vtime_ns, c->weight);
}

/*
 * Does the ordinary thread that runs there have to make way for this one, which was just woken, or
 * for another, since its slice is over?
 */
static __always_inline int fair_preempts(const struct task_struct *p, const struct takt_cpu *c)
{
	__s64 ran_ns;

	if (c->tier != TIER_ORDINARY)
		return 0;
	ran_ns = scheduler_clock_ns() - c->vtime_ns;
	if (ran_ns < RUN_LEAST_NS)
		return 0;
	return ran_ns >= (__s64)slice_ns ||
	       is_before(p->scx.dsq_vtime, c->vtime + virtual_ns(ran_ns, c->weight));
}

static __always_inline void fair_charge(struct task_struct *p, u64 ran_ns)
{
	if (is_before(p->scx.dsq_vtime, virtual_now - RUN_NS))
		p->scx.dsq_vtime = virtual_now - RUN_NS;
	p->scx.dsq_vtime += virtual_ns(ran_ns, p->scx.weight);
	if (is_before(virtual_now + AHEAD_MAX_NS, p->scx.dsq_vtime))
		p->scx.dsq_vtime = virtual_now + AHEAD_MAX_NS;
}

static __always_inline void network_charge(struct takt_cpu *cpu, u64 ran_ns)
{
	/* Those of other caches wait for other CPUs, which likewise leave them their part. */
	if (scx_bpf_dsq_nr_queued(QUEUE_ORDINARY + cpu->llc) <= 0)
		cpu->network_debt_ns = 0;
	else if (cpu->network_debt_ns < NETWORK_DEBT_MAX_NS)
		cpu->network_debt_ns += ran_ns > RUN_NS ? RUN_NS : ran_ns;
}

#endif
