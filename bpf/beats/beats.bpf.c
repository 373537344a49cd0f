// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The scheduler `takt`: threads that run when they were promised. After paper 002
 * (HiTactix): a table of time slots says who runs, at every edge anew; the free time
 * between slots belongs to everybody else.
 *
 *   eligible  a member of a task whose slot is open, whose turn it is, and whose
 *             budget is not used up (algo/slots.h, algo/turns.h)
 *   rank      kernel threads of one CPU, beats, protocol processing, ordinary
 *             threads by virtual time (fair.h)
 *   next wake the table's next edge, or the end of the budget (edge.h)
 *
 * What it does not do: nothing here decides where slots lie (crates/planner), and
 * realtime classes and interrupts are above it whatever it does.
 */
#include "interrupts.h"
#include "member.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

SEC("struct_ops/select_cpu")
int BPF_PROG(takt_select_cpu, struct task_struct *p, int prev_cpu, u64 wake_flags)
{
	struct takt_thread *thread = thread_of(p);
	_Bool is_idle = 0;
	int cpu;

	if (thread && thread->place) {
		const struct takt_member *member = place_of(thread, p);
		const struct takt_task *task = member ? task_of(member->task) : 0;
		const struct takt_beats *host = beats();
		const struct takt_task_params *params =
			member && host ? params_of(member->task, host->generation) : 0;

		if (task && params && !task->stopped &&
		    bpf_cpumask_test_cpu(params->home_cpu, p->cpus_ptr))
			return params->home_cpu;
	}
	cpu = scx_bpf_select_cpu_dfl(p, prev_cpu, wake_flags, &is_idle);
	if (is_idle)
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, SLICE_NS, 0);
	return cpu;
}

/* A thread that is not new here waits, and some CPU may idle that could have it. */
static __always_inline void wake_idle(const struct task_struct *p, u64 enq_flags)
{
	int idle;

	if (enq_flags & SCX_ENQ_WAKEUP)
		return;
	idle = scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);
	if (idle >= 0)
		scx_bpf_kick_cpu(idle, SCX_KICK_IDLE);
}

SEC("struct_ops/enqueue")
int BPF_PROG(takt_enqueue, struct task_struct *p, u64 enq_flags)
{
	struct takt_thread *thread = thread_of(p);
	u32 level = thread ? thread->level : LEVEL_ORDINARY;
	u32 cpu = scx_bpf_task_cpu(p);
	struct takt_cpu *c = cpu_of(cpu);

	if (thread && thread->place) {
		const struct takt_member *member = place_of(thread, p);

		if (member && member_enqueue(p, thread, member, enq_flags))
			return 0;
	}
	if (level == LEVEL_KERNEL) {
		if (c && c->level < LEVEL_KERNEL)
			enq_flags |= SCX_ENQ_PREEMPT;
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, SLICE_NS, enq_flags);
		return 0;
	}
	/* Nobody else wants this CPU. */
	if (enq_flags & SCX_ENQ_LAST) {
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, SLICE_NS, enq_flags);
		return 0;
	}
	if (level == LEVEL_NETWORK) {
		scx_bpf_dsq_insert(p, QUEUE_NETWORK, SLICE_NS, enq_flags);
		if (c && c->level == LEVEL_ORDINARY && enq_flags & SCX_ENQ_WAKEUP)
			scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
		else
			wake_idle(p, enq_flags);
		return 0;
	}
	fair_enqueue(p, QUEUE_ORDINARY, enq_flags);
	wake_idle(p, enq_flags);
	return 0;
}

SEC("struct_ops/dispatch")
int BPF_PROG(takt_dispatch, int cpu, struct task_struct *prev)
{
	const struct takt_beats *host = beats();
	struct takt_cpu *c = cpu_of(cpu);
	u64 now_ns = bpf_ktime_get_ns();

	if (!c || !host)
		return 0;
	/* Tables are new, or this CPU is. */
	if (!c->armed_ns || (c->armed_ns == TAKT_TIME_NEVER && c->generation != host->generation))
		set_alarm(c, cpu, now_ns);
	if (c->frees) {
		c->frees = 0;
		free_waiting(cpu);
	}
	if (!member_dispatch(c, cpu, prev, now_ns))
		free_dispatch(c, cpu);
	return 0;
}

SEC("struct_ops/running")
int BPF_PROG(takt_running, struct task_struct *p)
{
	struct takt_thread *thread = thread_of(p);
	u32 cpu = bpf_get_smp_processor_id();
	struct takt_cpu *c = cpu_of(cpu);
	u64 now_ns = bpf_ktime_get_ns();
	u32 level;

	if (!c)
		return 0;
	level = thread ? thread->level : LEVEL_ORDINARY;
	if (thread && thread->place) {
		const struct takt_member *member = place_of(thread, p);

		if (member)
			level = member_running(p, thread, member, c, cpu, now_ns);
	}
	if (level == LEVEL_ORDINARY)
		fair_running(p);
	c->level = level;
	c->since_ns = now_ns;
	return 0;
}

SEC("struct_ops/stopping")
int BPF_PROG(takt_stopping, struct task_struct *p, _Bool runnable)
{
	struct takt_cpu *c = cpu_of(bpf_get_smp_processor_id());
	u64 now_ns = bpf_ktime_get_ns(), ran_ns;

	if (!c)
		return 0;
	ran_ns = now_ns - c->since_ns;
	if (c->level == LEVEL_BEAT) {
		struct takt_thread *thread = thread_of(p);

		if (thread)
			member_stopping(p, thread, c, ran_ns, now_ns, runnable);
		c->task = TAKT_NOBODY;
	} else if (c->level == LEVEL_NETWORK) {
		network_charge(c, ran_ns);
	} else if (c->level == LEVEL_ORDINARY) {
		fair_charge(p, ran_ns);
	}
	c->level = LEVEL_NONE;
	return 0;
}

SEC("struct_ops/yield")
int BPF_PROG(takt_yield, struct task_struct *from, struct task_struct *to)
{
	struct takt_thread *thread = thread_of(from);
	struct takt_cpu *c = cpu_of(bpf_get_smp_processor_id());

	from->scx.slice = 0;
	if (thread && c && thread->place) {
		const struct takt_member *member = place_of(thread, from);

		if (member)
			member_yield(thread, member, c);
	}
	return 0;
}

SEC("struct_ops/enable")
int BPF_PROG(takt_enable, struct task_struct *p)
{
	p->scx.dsq_vtime = virtual_now;
	return 0;
}

SEC("struct_ops/init_task")
int BPF_PROG(takt_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	struct takt_thread *thread;
	u64 name[2];

	thread = bpf_task_storage_get(&takt_threads, p, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!thread)
		return -12;
	read_comm(name, p);
	recognise(p, thread, name);
	return 0;
}

SEC("struct_ops/exit_task")
int BPF_PROG(takt_exit_task, struct task_struct *p, struct scx_exit_task_args *args)
{
	struct takt_thread *thread = thread_of(p);

	if (thread)
		leave_place(p, thread);
	return 0;
}

/* Its timer has gone elsewhere and does nothing there; whoever waits here must not. */
SEC("struct_ops/cpu_offline")
int BPF_PROG(takt_cpu_offline, int cpu)
{
	return 0;
}

/* Its first dispatch sets its alarm. */
SEC("struct_ops/cpu_online")
int BPF_PROG(takt_cpu_online, int cpu)
{
	struct takt_cpu *c = cpu_of(cpu);

	if (c)
		c->armed_ns = 0;
	return 0;
}

SEC("struct_ops.s/init")
int BPF_PROG(takt_init)
{
	const struct takt_beats *host = beats();
	u32 cpu, member;
	int error;

	if (!host)
		return -EINVAL;
	error = scx_bpf_create_dsq(QUEUE_ORDINARY, -1);
	if (!error)
		error = scx_bpf_create_dsq(QUEUE_NETWORK, -1);
	bpf_for(cpu, 0, host->cpu_count) {
		u32 key = cpu;
		struct takt_alarm *alarm = bpf_map_lookup_elem(&takt_alarms, &key);

		if (error || !alarm)
			break;
		error = scx_bpf_create_dsq(QUEUE_STRAY + cpu, -1);
		if (!error)
			error = bpf_timer_init(&alarm->timer, &takt_alarms, CLOCK_MONOTONIC);
		if (!error)
			error = bpf_timer_set_callback(&alarm->timer, on_alarm);
	}
	bpf_for(member, 0, TAKT_MEMBERS) {
		if (error)
			break;
		error = scx_bpf_create_dsq(QUEUE_MEMBER + member, -1);
	}
	return error;
}

/* Why the kernel, or takt, ended it. */
SEC("struct_ops/exit")
int BPF_PROG(takt_exit, struct scx_exit_info *info)
{
	struct takt_beats *host = beats();

	if (!host)
		return 0;
	host->exit_code = info->exit_code;
	bpf_probe_read_kernel_str(host->exit_reason, sizeof(host->exit_reason), info->reason);
	bpf_probe_read_kernel_str(host->exit_message, sizeof(host->exit_message), info->msg);
	host->exit_kind = info->kind;
	return 0;
}

/* A thread takes a name, by itself or because it runs another program. */
SEC("tp_btf/task_rename")
int BPF_PROG(takt_renamed, struct task_struct *p, const char *comm)
{
	struct takt_thread *thread = thread_of(p);
	u64 name[2] = {};

	if (!thread)
		return 0;
	bpf_probe_read_kernel_str(name, TAKT_COMM_BYTES, comm);
	recognise(p, thread, name);
	return 0;
}

/* User space has made tables: have every CPU look. */
SEC("syscall")
int takt_commit(struct takt_beats_commit_args *args)
{
	struct takt_beats *host = beats();
	u32 cpu, task;

	if (!host)
		return 0;
	bpf_for(task, 0, TAKT_TASKS) {
		struct takt_task *known = task_of(task);

		if (known)
			known->stopped = 0;
	}
	host->generation = args->generation;
	bpf_for(cpu, 0, host->cpu_count) {
		struct takt_cpu *c = cpu_of(cpu);

		if (c)
			c->frees = 1;
		scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
	}
	return 0;
}

/* Give a thread a place, or take it from whoever has it (tid 0). */
SEC("syscall")
int takt_seat(struct takt_join_args *args)
{
	struct takt_member *member = member_of(args->member);
	struct takt_thread *thread;
	struct task_struct *p;
	u32 tid = args->tid;

	args->result = -EINVAL;
	if (!member)
		return 0;
	if (!tid)
		tid = member->tid;
	p = bpf_task_from_pid(tid);
	args->result = -ESRCH;
	if (!p)
		return 0;
	thread = thread_of(p);
	if (thread) {
		args->result = 0;
		if (args->tid)
			args->result = take_place(p, thread, args->member, 1);
		else
			leave_place(p, thread);
	}
	bpf_task_release(p);
	return 0;
}

SEC(".struct_ops.link")
struct sched_ext_ops takt_beats_ops = {
	.select_cpu = (void *)takt_select_cpu,
	.enqueue = (void *)takt_enqueue,
	.dispatch = (void *)takt_dispatch,
	.running = (void *)takt_running,
	.stopping = (void *)takt_stopping,
	.yield = (void *)takt_yield,
	.enable = (void *)takt_enable,
	.init_task = (void *)takt_init_task,
	.exit_task = (void *)takt_exit_task,
	.cpu_online = (void *)takt_cpu_online,
	.cpu_offline = (void *)takt_cpu_offline,
	.init = (void *)takt_init,
	.exit = (void *)takt_exit,
	.flags = SCX_OPS_ENQ_LAST,
	.timeout_ms = 30000,
	.name = "takt",
};
