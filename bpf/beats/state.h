/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The scheduler's state: tables, tasks, members, threads, CPUs. */
#ifndef TAKT_BEATS_STATE_H
#define TAKT_BEATS_STATE_H

#include "scx.h"
#include "beats_maps.h"

/* What a thread is to the scheduler. A higher tier goes first. */
#define TIER_NONE 0U		/* no thread of this scheduler runs */
#define TIER_ORDINARY 1U
#define TIER_NETWORK 2U		/* protocol processing: below the beats */
#define TIER_KERNEL 3U		/* kernel threads of one CPU */
#define TIER_BEAT 4U		/* a member in its slot */

/* Queues by id, as sched_ext numbers them. */
#define QUEUE_NETWORK 1ULL
#define QUEUE_ORDINARY 0x100ULL	/* + last-level cache, below TAKT_LLCS: caches.h */
#define QUEUE_STRAY 0x10000ULL	/* + CPU: members outside of their slots, likewise fair */
#define QUEUE_MEMBER 0x20000ULL	/* + member: it waits there for its slot and its turn */
#define QUEUE_CALIBRATE 0x28000ULL	/* + CPU: calibrate.h */
#define QUEUE_KERNEL 0x2C000ULL	/* + CPU: its kernel threads, while a beat runs */
#define QUEUE_THROTTLED (1ULL << 62)	/* + a control group's id: throttle.h */

/*
 * How long a thread runs before others get their turn, as in the kernel's own class: longer on
 * more CPUs. The kernel looks at ticks, fair_preempts() when a thread is woken.
 */
#define SLICE_BASE_NS 700000ULL
static u64 slice_ns;

/*
 * Beats are cut by alarms, not by the kernel's count. SCX_SLICE_INF would have the kernel compute
 * averages of load whenever a beat follows another thread, or the other way round: that is worth
 * it where the tick can stop meanwhile (nohz_full), which user space knows.
 */
#define BEAT_SLICE_NS (1ULL << 62)
const volatile u64 beat_slice_ns = BEAT_SLICE_NS;

/* The kernel's, by user space. */
const volatile u64 tick_period_ns = 0;

static __always_inline int is_beat_slice(const struct task_struct *p)
{
	return p->scx.slice > BEAT_SLICE_NS / 2;
}

struct takt_thread {
	u32 reservation;	/* the member that it holds, from 1; 0: none */
	u32 tier;		/* its tier outside of any slot */
	u32 parked;		/* it has yielded, and waits for its next turn */
	u32 settled;		/* it has yielded once: it knows about its turns */
	u32 asked;		/* its reservation was requested, not given by rule */
	u32 calibrates;		/* calibrate.h */
	u64 job;		/* in which it last ran */
	u64 slot_end_ns;	/* of the slot in which it last ran */
	u64 stopped_ns;		/* when it was preempted, with the slot open and the job undone */
	u64 throttled_ns;	/* since when its control group's limit keeps it from running; 0 */
	u64 switched_ns;	/* calibrate.h */
	u32 switched_from;	/* likewise */
	u32 runs_softirqs;	/* ksoftirqd */
};

/*
 * Most threads are ordinary, and the look-up of a thread's state costs more than the rest of its
 * path. So a mark says that this thread has state, or another with the same last bits of its
 * number.
 */
#define MARKS 0x10000U
static u8 marks[MARKS];

struct takt_alarm {
	struct bpf_timer timer;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct takt_thread);
} takt_beats_threads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);		/* one per possible CPU; user space says how many */
	__type(key, u32);
	__type(value, struct takt_alarm);
} takt_beats_alarms SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);		/* likewise */
	__type(key, u32);
	__type(value, struct takt_cpu);
} takt_beats_cpus SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);		/* two per possible CPU: in force, and next */
	__type(key, u32);
	__type(value, struct takt_table);
} takt_beats_tables SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, TAKT_TASKS);
	__type(key, u32);
	__type(value, struct takt_task);
} takt_beats_tasks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2 * TAKT_TASKS);
	__type(key, u32);
	__type(value, struct takt_task_params);
} takt_beats_params SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, TAKT_MEMBERS);
	__type(key, u32);
	__type(value, struct takt_member);
} takt_beats_members SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, TAKT_MEMBERS);
	__type(key, u32);
	__type(value, struct takt_member_rule);
} takt_beats_rules SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, TAKT_MEMBERS);
	__type(key, u32);
	__type(value, struct takt_job_page);
} takt_beats_jobs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct takt_beats);
} takt_beats SEC(".maps");

static __always_inline struct takt_beats *beats(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&takt_beats, &zero);
}

static __always_inline struct takt_cpu *cpu_of(u32 cpu)
{
	return bpf_map_lookup_elem(&takt_beats_cpus, &cpu);
}

static __always_inline struct takt_task *task_of(u32 task)
{
	return bpf_map_lookup_elem(&takt_beats_tasks, &task);
}

static __always_inline struct takt_member *member_of(u32 member)
{
	return bpf_map_lookup_elem(&takt_beats_members, &member);
}

static __always_inline struct takt_table *table_of(u32 cpu, u32 half)
{
	u32 at = cpu * 2 + (half & 1);

	return bpf_map_lookup_elem(&takt_beats_tables, &at);
}

static __always_inline struct takt_thread *thread_of(struct task_struct *p)
{
	return bpf_task_storage_get(&takt_beats_threads, p, 0, 0);
}

static __always_inline void mark(const struct task_struct *p)
{
	marks[(u32)p->pid & (MARKS - 1)] = 1;
}

/* The state of a thread that is not ordinary; 0 for all others. */
static __always_inline struct takt_thread *marked_thread_of(struct task_struct *p)
{
	return marks[(u32)p->pid & (MARKS - 1)] ? thread_of(p) : 0;
}

/* The member that the thread holds, if it was not taken back meanwhile. */
static __always_inline struct takt_member *reservation_of(const struct takt_thread *thread,
							  const struct task_struct *p)
{
	struct takt_member *member;

	if (!thread->reservation)
		return 0;
	member = member_of(thread->reservation - 1);
	return member && member->tid == (u32)p->pid ? member : 0;
}

/* May the thread run there? */
static __always_inline int may_be_on(const struct task_struct *p, u32 cpu)
{
	const struct takt_cpu *c = cpu_of(cpu);

	return c && !c->offline && bpf_cpumask_test_cpu(cpu, p->cpus_ptr);
}

/* Where the thread waits as an ordinary one: with the others of its CPU's last-level cache. */
static __always_inline u64 ordinary_queue(const struct task_struct *p)
{
	const struct takt_cpu *c = cpu_of(scx_bpf_task_cpu(p));

	return QUEUE_ORDINARY + (c ? c->llc : 0);
}

/* Threads may wait in vain from now on: every CPU checks with its next dispatch. */
static __always_inline void free_everywhere(void)
{
	struct takt_beats *host = beats();

	if (host)
		__sync_fetch_and_add(&host->frees, 1);
}

/* The parameters of a task: those in force on a CPU, or the next. */
static __always_inline const struct takt_task_params *params_of(u32 task, u32 half)
{
	u32 at = (half & 1) * TAKT_TASKS + task;

	return task < TAKT_TASKS ? bpf_map_lookup_elem(&takt_beats_params, &at) : 0;
}

/* The CPU's span as another CPU may read it; TAKT_NO_TASK if it is being written. */
static __always_inline void read_span(const struct takt_cpu *cpu, struct takt_span *span)
{
	u32 before = *(volatile u32 *)&cpu->sequence;

	*span = cpu->span;
	if (before & 1 || before != *(volatile u32 *)&cpu->sequence)
		span->task = TAKT_NO_TASK;
}

#endif
