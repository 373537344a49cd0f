/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Limits of control groups (cpu.max), which the kernel's own scheduler would keep. Every limited
 * group has a clock (algo/bandwidth.h), which all threads below it move on as they run. A thread
 * of a group whose clock is ahead is throttled: it waits in a queue of that group, of those above
 * it the one that it waits longest for, until the group's timer finds the clock due. The first in
 * the queue is the first to go on. So no group waits for another one's clock.
 *
 * Every group has a queue from its begin to its end, limited or not: where a limit is set, none can
 * be made.
 *
 * Members in their slots are charged and never throttled. Kernel threads, dying threads and
 * threads in an RCU read-side section are not throttled either: others wait for them.
 *
 * While no group is limited, all of this costs one look at limited_groups.
 */
#ifndef TAKT_THROTTLE_H
#define TAKT_THROTTLE_H

#include "bandwidth.h"
#include "cgroup_names.h"
#include "fair.h"
#include "hotplug.h"

/* The kernel has no bound. Memory control, where it is in use, has one of 65,535 groups. */
#define LIMITS_MAX 131072U
#define SET_ASIDE_MAX 32U	/* threads in one dispatch */
/* No thread is throttled for longer, and the timer looks at least so often. */
#define THROTTLED_MAX_NS TAKT_BANDWIDTH_WAIT_MAX_NS
#define LOOK_MAX_NS 1000000000ULL
#define LOOK_MIN_NS 1000000ULL
/* A thread is in its queue within this time after it was noted. */
#define NOTED_MAX_NS 100000000ULL

/* A group that is limited, or was. */
struct takt_limit {
	struct takt_bandwidth bandwidth;
	struct bpf_timer timer;
	u64 look_ns;		/* when the timer looks next */
	u64 throttled_last_ns;	/* when a thread was last put into the queue */
	u32 limits;		/* 0: the limit was taken back */
	u32 pad;
};

/* By the group's id. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, LIMITS_MAX);
	__type(key, u64);
	__type(value, struct takt_limit);
} takt_beats_limits SEC(".maps");

static volatile u32 limited_groups;
/*
 * Threads that one timer looks at. A variable, so that the verifier follows one pass of the loop
 * and not each.
 */
static volatile u32 let_go_most = 256;

static int takt_beats_on_release(void *map, u64 *id, struct takt_limit *limit);

static __always_inline u64 id_of(const struct cgroup *group)
{
	return BPF_CORE_READ(group, kn, id);
}

/* Have the timer of a group's queue look then, if not before. */
static __always_inline void look_at(struct takt_limit *limit, u64 now_ns, u64 in_ns)
{
	u64 when_ns = now_ns + takt_clamp(in_ns, LOOK_MIN_NS, LOOK_MAX_NS);

	if (when_ns >= limit->look_ns)
		return;
	limit->look_ns = when_ns;
	bpf_timer_start(&limit->timer, when_ns, BPF_F_TIMER_ABS | BPF_F_TIMER_CPU_PIN);
}

/* The group's entry, which is made for its first limit. */
static __always_inline struct takt_limit *make_limit(u64 id)
{
	struct takt_limit *limit = bpf_map_lookup_elem(&takt_beats_limits, &id);
	struct takt_limit none = { .look_ns = TAKT_TIME_NEVER };

	if (limit)
		return limit;
	if (bpf_map_update_elem(&takt_beats_limits, &id, &none, BPF_NOEXIST))
		return 0;
	limit = bpf_map_lookup_elem(&takt_beats_limits, &id);
	if (limit && (bpf_timer_init(&limit->timer, &takt_beats_limits, CLOCK_MONOTONIC) ||
		      bpf_timer_set_callback(&limit->timer, takt_beats_on_release))) {
		bpf_map_delete_elem(&takt_beats_limits, &id);
		return 0;
	}
	return limit;
}

/* The group's id, and its new limit. */
static __noinline int takt_beats_set_limit(u64 id, u64 period_us, u64 quota_us, u64 burst_us)
{
	u32 limits = quota_us != TAKT_BANDWIDTH_OFF;
	struct takt_limit *limit = limits ? make_limit(id) :
					    bpf_map_lookup_elem(&takt_beats_limits, &id);

	if (!limit)
		return 0;
	if (limits)
		takt_bandwidth_set(&limit->bandwidth, period_us, quota_us, burst_us);
	if (limits != limit->limits)
		__sync_fetch_and_add(&limited_groups, limits ? 1 : -1);
	limit->limits = limits;
	/* Who waits for the former limit may go. */
	if (limit->throttled_last_ns)
		look_at(limit, bpf_ktime_get_ns(), 0);
	return 0;
}

/* What the limits above a thread say. */
struct limits_say {
	u64 now_ns;
	u64 ran_ns;		/* charge this first */
	u64 wait_ns;		/* 0: it may run */
	u64 group;		/* whose clock it waits for */
	u32 limited;		/* there is one */
	u32 pad;
};

/* The address of the thread's group: a global function takes no pointer of the kernel's. */
static __always_inline u64 group_of(const struct task_struct *p)
{
	return (u64)BPF_CORE_READ(p, sched_task_group, css.cgroup);
}

__noinline int takt_beats_ask_limits(u64 address, struct limits_say *say TAKT_ARG)
{
	const struct cgroup *group = (const void *)address;
	int level, levels;

	/* A group that the kernel made for a session (autogroup) is none of them. */
	if (!group)
		return 0;
	levels = BPF_CORE_READ(group, level);
	bpf_for(level, 1, CGROUP_LEVELS + 1) {
		struct cgroup *ancestor;
		struct takt_limit *limit;
		u64 id, wait_ns;

		if (level > levels)
			break;
		if (bpf_core_read(&ancestor, sizeof(ancestor), &group->ancestors[level]))
			break;
		id = BPF_CORE_READ(ancestor, kn, id);
		limit = bpf_map_lookup_elem(&takt_beats_limits, &id);
		if (!limit || !limit->limits)
			continue;
		say->limited = 1;
		if (say->ran_ns)
			takt_bandwidth_charge(&limit->bandwidth, say->now_ns, say->ran_ns);
		wait_ns = takt_bandwidth_wait(&limit->bandwidth, say->now_ns);
		if (wait_ns > say->wait_ns) {
			say->wait_ns = wait_ns;
			say->group = id;
		}
	}
	return 0;
}

/* The thread has run for this long. */
static __always_inline void limit_charge(struct task_struct *p, u64 ran_ns)
{
	struct limits_say say = { .ran_ns = ran_ns };
	struct takt_thread *thread;

	if (!limited_groups || p->flags & PF_KTHREAD)
		return;
	say.now_ns = bpf_ktime_get_ns();
	takt_beats_ask_limits(group_of(p), &say);
	thread = say.limited ? thread_of(p) : 0;
	if (thread)
		thread->throttled_ns = 0;
}

/* Has the thread been throttled for so long that it goes on in any case? */
static __always_inline int has_waited(const struct takt_thread *thread, u64 now_ns)
{
	return thread->throttled_ns && now_ns - thread->throttled_ns > THROTTLED_MAX_NS;
}

/* Must the thread wait? Then `say` tells where, and for how long. */
static __always_inline struct takt_thread *throttled(struct task_struct *p,
						     struct limits_say *say)
{
	struct takt_thread *thread;

	if (p->flags & (PF_KTHREAD | PF_EXITING) || reads_rcu(p))
		return 0;
	say->now_ns = bpf_ktime_get_ns();
	takt_beats_ask_limits(group_of(p), say);
	if (!say->wait_ns)
		return 0;
	thread = thread_of(p);
	return thread && !has_waited(thread, say->now_ns) ? thread : 0;
}

static __noinline int takt_beats_must_wait(struct task_struct *p)
{
	struct limits_say say = {};

	return throttled(p, &say) != 0;
}

static __always_inline int must_wait(struct task_struct *p)
{
	return limited_groups && takt_beats_must_wait(p);
}

/* A thread is about to wait. One that was let go in vain comes first. Returns the flags for it. */
static __always_inline u64 note_throttled(struct takt_thread *thread, const struct limits_say *say)
{
	struct takt_limit *limit = bpf_map_lookup_elem(&takt_beats_limits, &say->group);
	u64 flags = thread->throttled_ns ? SCX_ENQ_HEAD : 0;

	if (!flags)
		thread->throttled_ns = say->now_ns;
	if (limit) {
		limit->throttled_last_ns = say->now_ns;
		look_at(limit, say->now_ns, say->wait_ns);
	}
	return flags;
}

/* A thread becomes runnable. Returns 0 if it may run. */
static __always_inline int throttle(struct task_struct *p, u64 enq_flags)
{
	struct limits_say say = {};
	struct takt_thread *thread;

	if (!limited_groups)
		return 0;
	thread = throttled(p, &say);
	if (!thread)
		return 0;
	enq_flags |= note_throttled(thread, &say);
	scx_bpf_dsq_insert(p, QUEUE_THROTTLED + say.group, slice_ns, enq_flags);
	return 1;
}

/*
 * The clock of a group may have gone ahead while its threads waited among the ordinary ones of a
 * last-level cache: take out those that would be next.
 */
__noinline int takt_beats_set_aside(u32 llc)
{
	struct task_struct *p;
	u32 count = 0;

	bpf_for_each(scx_dsq, p, QUEUE_ORDINARY + llc, 0) {
		struct limits_say say = {};
		struct takt_thread *thread = throttled(p, &say);
		u64 flags;

		if (!thread || count++ >= SET_ASIDE_MAX)
			break;
		flags = note_throttled(thread, &say);
		scx_bpf_dsq_move(THIS_WALK, p, QUEUE_THROTTLED + say.group, flags);
	}
	return 0;
}

static __always_inline void set_aside(u32 llc)
{
	if (limited_groups)
		takt_beats_set_aside(llc);
}

/*
 * Let threads of a group's queue go on, one for each CPU: when they have run, the group may have to
 * wait again. One that has to wait for another group now goes to that one's queue. Returns when to
 * look again.
 */
static __noinline u64 takt_beats_let_go(u64 group, u64 now_ns, u32 cpus)
{
	u64 again_ns = TAKT_TIME_NEVER;
	struct task_struct *p;
	u32 moved = 0;

	bpf_rcu_read_lock();
	bpf_for_each(scx_dsq, p, QUEUE_THROTTLED + group, 0) {
		struct limits_say say = {};
		struct takt_thread *thread = throttled(p, &say);
		int idle;

		if (moved++ >= let_go_most || (!thread && !cpus)) {
			again_ns = LOOK_MIN_NS;
			break;
		}
		if (thread && say.group == group) {
			again_ns = say.wait_ns;
			break;
		}
		if (thread) {
			u64 flags = note_throttled(thread, &say);

			scx_bpf_dsq_move(THIS_WALK, p, QUEUE_THROTTLED + say.group, flags);
			continue;
		}
		cpus--;
		scx_bpf_dsq_move_set_slice(THIS_WALK, slice_ns);
		if (is_before(p->scx.dsq_vtime, virtual_now))
			scx_bpf_dsq_move_set_vtime(THIS_WALK, virtual_now);
		if (!scx_bpf_dsq_move_vtime(THIS_WALK, p, ordinary_queue(p), 0))
			continue;
		idle = scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);
		if (idle >= 0)
			scx_bpf_kick_cpu(idle, SCX_KICK_IDLE);
	}
	bpf_rcu_read_unlock();
	return again_ns;
}

static int takt_beats_on_release(void *map, u64 *id, struct takt_limit *limit)
{
	const struct takt_beats *host = beats();
	u64 now_ns = bpf_ktime_get_ns(), again_ns;

	limit->look_ns = TAKT_TIME_NEVER;
	again_ns = takt_beats_let_go(*id, now_ns, host ? host->cpu_count : 1);
	if (now_ns - limit->throttled_last_ns < NOTED_MAX_NS)
		again_ns = takt_min(again_ns, NOTED_MAX_NS);
	if (again_ns != TAKT_TIME_NEVER)
		look_at(limit, now_ns, again_ns);
	return 0;
}

static int takt_beats_bring_group_home(void *map, u64 *id, struct takt_limit *limit, void *context)
{
	return takt_beats_bring_home(QUEUE_THROTTLED + *id);
}

static void bring_throttled_home(void)
{
	bpf_for_each_map_elem(&takt_beats_limits, takt_beats_bring_group_home, 0, 0);
}

/* The kernel tells of every group there is when the scheduler is loaded, and later of new ones. */
SEC("struct_ops.s/cgroup_init")
int BPF_PROG(takt_beats_newgroup, struct cgroup *group, struct scx_cgroup_init_args *args)
{
	u64 id = id_of(group);
	int error;

	if (!bpf_core_field_exists(args->bw_quota_us))
		return 0;
	error = scx_bpf_create_dsq(QUEUE_THROTTLED + id, -1);
	if (!error)
		takt_beats_set_limit(id, args->bw_period_us, args->bw_quota_us, args->bw_burst_us);
	return error;
}

/* The group has no threads any more. */
SEC("struct_ops/cgroup_exit")
int BPF_PROG(takt_beats_oldgroup, struct cgroup *group)
{
	u64 id = id_of(group);

	takt_beats_set_limit(id, 0, TAKT_BANDWIDTH_OFF, 0);
	bpf_map_delete_elem(&takt_beats_limits, &id);
	/* The kernel ends a scheduler that takes a queue away from its threads. */
	if (!scx_bpf_dsq_nr_queued(QUEUE_THROTTLED + id))
		scx_bpf_destroy_dsq(QUEUE_THROTTLED + id);
	return 0;
}

SEC("struct_ops/cgroup_set_bandwidth")
int BPF_PROG(takt_beats_setlimit, struct cgroup *group, u64 period_us, u64 quota_us,
	     u64 burst_us)
{
	takt_beats_set_limit(id_of(group), period_us, quota_us, burst_us);
	return 0;
}

#endif
