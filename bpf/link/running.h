/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * For the gate (algo/gate.h): which task this CPU runs, and which task sent the packet.
 *
 * The running task is certain, whether the link was reached from its system call, from an
 * interrupt during it, or while the CPU was idle. The sender is not: the packet may be sent in an
 * interrupt during some other task, or by another CPU. So the socket's owner counts, as bpf/owner
 * saw it last. Whenever a thread of that process is found running here, its priority is updated.
 */
#ifndef TAKT_RUNNING_H
#define TAKT_RUNNING_H

#include "link_maps.h"
#include "sockets_map.h"
#include "task.h"

/* Does no other task want this processor, as far as the kernel tells? */
static __always_inline int runs_alone(void)
{
	const struct rq *rq;

	if (!bpf_ksym_exists(&runqueues))
		return 0;
	rq = bpf_this_cpu_ptr(&runqueues);
	return rq->nr_running <= 1;
}

static __always_inline void note_running(struct takt_port *port, const struct takt_plan *plan)
{
	u32 *running = &port->link.order.blocked.running;
	const struct task_struct *task;

	*running = TAKT_TASK_UNKNOWN;
	if (!plan->gated)
		return;
	task = bpf_get_current_task_btf();
	*running = running_prio(task);
	/*
	 * A device says in a kernel's thread that it has room, where that is not done in an
	 * interrupt (threaded NAPI, work queues). This is no task that packets take time from.
	 */
	if (plan->by_device && task->flags & PF_KTHREAD && runs_alone())
		*running = TAKT_CPU_IDLE;
	/* The helper opens the gate, but not while other tasks want the processor. */
	if ((u32)task->pid == port->opener && !runs_alone())
		*running = TAKT_TASK_FIRST;
}

/*
 * A packet for this entity arrives: note the running task, and return the priority of the task
 * that sent the packet.
 */
static __always_inline u32 note_tasks(const struct sk_buff *skb, struct takt_port *port,
				      const struct takt_plan *plan, u32 id)
{
	const struct takt_entity *entity = takt_entity(&port->link.order, id);
	const struct task_struct *task;
	struct takt_socket *known;
	const struct sock *sk = bpf_core_cast(skb, struct sk_buff)->sk;
	u64 cookie;

	if (!plan->gated || !takt_params(plan, entity, id)->gated)
		return TAKT_TASK_UNKNOWN;
	note_running(port, plan);
	if (!sk)
		return TAKT_TASK_UNKNOWN;
	cookie = bpf_core_cast(sk, struct sock)->__sk_common.skc_cookie.counter;
	known = bpf_map_lookup_elem(&takt_link_sockets, &cookie);
	if (!known || !known->tgid)
		return TAKT_TASK_UNKNOWN;
	task = bpf_get_current_task_btf();
	if ((u32)task->tgid == known->tgid)
		known->task_prio =
			takt_task_prio(task->normal_prio, task->policy == SCHED_IDLE);
	return known->task_prio;
}

#endif
