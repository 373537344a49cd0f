/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A realtime thread that hardly sleeps leaves threads of the kernel's own class one part in twenty
 * of its CPU (the fair server), and threads of an extensible scheduler nothing before there is an
 * ext server. So a timer looks at every CPU, and ends this scheduler when realtime threads let
 * ordinary ones starve: the kernel's own class takes them back.
 */
#ifndef TAKT_WATCH_H
#define TAKT_WATCH_H

#include "starve.h"
#include "waiting.h"

#define WATCH_PERIOD_NS 100000000ULL
#define MAX_RT_PRIO 100		/* priorities below are of the classes above */
#define NS_PER_MS 1000000ULL

/* One timer for all CPUs. It wakes an idle host ten times a second. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct takt_alarm);
} takt_beats_watch SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);		/* one per possible CPU; user space says how many */
	__type(key, u32);
	__type(value, struct takt_starve);
} takt_beats_starve SEC(".maps");

/* Look at a CPU. Has this ended the scheduler? */
__noinline int takt_beats_look(u32 cpu)
{
	struct takt_starve *starve = bpf_map_lookup_elem(&takt_beats_starve, &cpu);
	static char format[] =
		"%s, thread %d, left ordinary threads too little time on CPU %d for %d ms";
	const struct takt_cpu *c = cpu_of(cpu);
	const struct task_struct *running;
	u64 waits = 0, waited_ns, said[4];
	const struct rq *rq;
	char comm[16] = {};

	if (!bpf_ksym_exists(&runqueues))
		return 0;
	rq = bpf_per_cpu_ptr(&runqueues, cpu);
	if (!starve || !rq || !c)
		return 0;
	running = BPF_CORE_READ(rq, curr);
	if (c->tier == TIER_NONE && BPF_CORE_READ(running, prio) < MAX_RT_PRIO)
		waits = longest_waiting(rq);
	waited_ns = takt_starve_look(starve, bpf_ktime_get_ns(), waits, c->ordinary_ns);
	if (!waited_ns)
		return 0;
	BPF_CORE_READ_STR_INTO(&comm, running, comm);
	said[0] = (u64)comm;
	said[1] = BPF_CORE_READ(running, pid);
	said[2] = cpu;
	said[3] = waited_ns / NS_PER_MS;
	scx_bpf_exit_bstr(TAKT_BEATS_EXIT_REALTIME, format, said, sizeof(said));
	return 1;
}

static int takt_beats_on_watch(void *map, u32 *key, struct takt_alarm *alarm)
{
	const struct takt_beats *host = beats();
	u32 cpu;

	bpf_for(cpu, 0, host ? host->cpu_count : 0) {
		if (takt_beats_look(cpu))
			return 0;
	}
	bpf_timer_start(&alarm->timer, WATCH_PERIOD_NS, 0);
	return 0;
}

static __always_inline int start_watch(void)
{
	u32 zero = 0;
	struct takt_alarm *alarm = bpf_map_lookup_elem(&takt_beats_watch, &zero);
	const struct rq *rq = NULL;
	int error;

	/* The kernel serves ordinary threads by itself, and an idle host stays asleep. */
	if (bpf_core_field_exists(rq->ext_server))
		return 0;
	if (!alarm)
		return -EINVAL;
	error = bpf_timer_init(&alarm->timer, &takt_beats_watch, CLOCK_MONOTONIC);
	if (!error)
		error = bpf_timer_set_callback(&alarm->timer, takt_beats_on_watch);
	return error ?: bpf_timer_start(&alarm->timer, WATCH_PERIOD_NS, 0);
}

#endif
