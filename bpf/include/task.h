/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The parts of the kernel's task types that Takt's programs use. */
#ifndef TAKT_TASK_H
#define TAKT_TASK_H

#include "kernel.h"
#include "gate.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct {
	u32 val;
} kuid_t;

struct cred {
	kuid_t euid;
};

struct kernfs_node {
	const char *name;
	u64 id;
};

struct cgroup {
	struct kernfs_node *kn;
	int level;		/* the root's is 0 */
	struct cgroup *ancestors[];	/* by level, itself included */
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

struct cgroup_subsys_state {
	struct cgroup *cgroup;
};

struct task_group {
	struct cgroup_subsys_state css;
};

struct list_head {
	struct list_head *next;
};

struct sched_dl_entity {
	u64 dl_runtime;
};

struct scx_rq {
	struct list_head runnable_list;	/* of threads, the longest waiting first */
};

struct rq {
	unsigned int nr_running;
	struct task_struct *curr;
	struct scx_rq scx;
	struct sched_dl_entity ext_server;	/* on kernels that have one */
};

struct cpumask {
	unsigned long bits[1];
};

struct mm_struct;

struct sched_entity {
	u64 exec_start;		/* its time on the CPU was last counted then */
};

struct scx_dispatch_q {
	u64 id;
};

struct sched_ext_entity {
	struct scx_dispatch_q *dsq;
	u32 flags, weight;
	u64 slice, dsq_vtime;
	struct list_head runnable_node;
	unsigned long runnable_at;
};

struct task_struct {
	unsigned int flags, policy;
	int pid, tgid, prio, normal_prio, nr_cpus_allowed;
	unsigned short migration_disabled;
	int rcu_read_lock_nesting;	/* on kernels that preempt RCU readers */
	const struct cpumask *cpus_ptr;
	struct sched_entity se;
	struct sched_ext_entity scx;
	struct mm_struct *mm;	/* 0: kernel threads, and those that exit */
	struct task_struct *group_leader;
	const struct cred *cred;
	char comm[16];
	struct css_set *cgroups;
	struct task_group *sched_task_group;	/* of processor time */
};

#pragma clang attribute pop

extern const struct rq runqueues __ksym __weak;

#define PF_IDLE 0x00000002
#define PF_EXITING 0x00000004
#define PF_KTHREAD 0x00200000
#define SCHED_IDLE 5

/* The task's present priority, with what it inherits. */
static __always_inline u32 running_prio(const struct task_struct *task)
{
	if (task->flags & PF_IDLE)
		return TAKT_CPU_IDLE;
	return takt_task_prio(task->prio, task->policy == SCHED_IDLE);
}

#endif
