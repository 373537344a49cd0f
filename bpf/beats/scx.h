/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The parts of the kernel's sched_ext that its programs use. */
#ifndef TAKT_SCX_H
#define TAKT_SCX_H

#include "task.h"

#define BPF_MAP_TYPE_TASK_STORAGE 29
#define BPF_NOEXIST 1
#define BPF_EXIST 2
#define BPF_LOCAL_STORAGE_GET_F_CREATE 1
#define BPF_F_TIMER_ABS 1
#define BPF_F_TIMER_CPU_PIN 2
#define CLOCK_MONOTONIC 1

/* The same on every kernel that has sched_ext (compared from 6.16 to 7.3). */
#define SCX_DSQ_LOCAL 0x8000000000000002ULL
#define SCX_DSQ_LOCAL_ON 0xC000000000000000ULL
#define SCX_SLICE_INF (~0ULL)
#define SCX_ENQ_WAKEUP 1ULL
#define SCX_ENQ_HEAD 16ULL
#define SCX_ENQ_PREEMPT (1ULL << 32)
#define SCX_ENQ_LAST (1ULL << 41)
#define SCX_KICK_IDLE 1
#define SCX_KICK_PREEMPT 2
#define SCX_OPS_ENQ_LAST 2ULL
#define SCX_TASK_QUEUED 1

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct scx_init_task_args {
	_Bool fork;
};

/* kernel/time/tick-sched.h */
struct tick_sched {
	unsigned long flags;
};

/* Those of bandwidth from Linux 6.17 on. */
struct scx_cgroup_init_args {
	u64 bw_period_us, bw_quota_us, bw_burst_us;
};

struct scx_exit_task_args {
	_Bool cancelled;
};

enum scx_exit_kind {
	SCX_EXIT_NONE,
};

enum pid_type {
	PIDTYPE_PID,
};

struct scx_exit_info {
	enum scx_exit_kind kind;
	__s64 exit_code;
	const char *reason;
	char *msg;
};

#pragma clang attribute pop

/* Matched with the kernel's struct by the names of its members. */
struct sched_ext_ops {
	int (*select_cpu)(struct task_struct *, int, u64);
	void (*enqueue)(struct task_struct *, u64);
	void (*dispatch)(int, struct task_struct *);
	void (*tick)(struct task_struct *);
	void (*running)(struct task_struct *);
	void (*stopping)(struct task_struct *, _Bool);
	_Bool (*yield)(struct task_struct *, struct task_struct *);
	void (*set_cpumask)(struct task_struct *, const struct cpumask *);
	int (*init_task)(struct task_struct *, struct scx_init_task_args *);
	void (*exit_task)(struct task_struct *, struct scx_exit_task_args *);
	void (*enable)(struct task_struct *);
	int (*cgroup_init)(struct cgroup *, struct scx_cgroup_init_args *);
	void (*cgroup_exit)(struct cgroup *);
	void (*cgroup_set_bandwidth)(struct cgroup *, u64, u64, u64);
	void (*cpu_online)(int);
	void (*cpu_offline)(int);
	int (*init)(void);
	void (*exit)(struct scx_exit_info *);
	u64 flags;
	u32 timeout_ms;
	char name[128];
};

#define TS_FLAG_STOPPED 2UL	/* TICK_SCHED_FLAG_STOPPED in later kernels */

extern const struct tick_sched tick_cpu_sched __ksym __weak;

struct bpf_timer {
	u64 opaque[2];
} __attribute__((aligned(8)));

/* The state of a walk through a queue. */
struct bpf_iter_scx_dsq {
	u64 opaque[6];
} __attribute__((aligned(8)));

/* The current walk of bpf_for_each(). */
#define THIS_WALK (&___it)

int bpf_iter_scx_dsq_new(struct bpf_iter_scx_dsq *it, u64 dsq_id, u64 flags) __ksym;
struct task_struct *bpf_iter_scx_dsq_next(struct bpf_iter_scx_dsq *it) __ksym;
void bpf_iter_scx_dsq_destroy(struct bpf_iter_scx_dsq *it) __ksym;

int scx_bpf_create_dsq(u64 dsq_id, int node) __ksym;
void scx_bpf_destroy_dsq(u64 dsq_id) __ksym;
int scx_bpf_select_cpu_dfl(struct task_struct *p, int prev_cpu, u64 wake_flags,
			   _Bool *is_idle) __ksym;
void scx_bpf_dsq_insert(struct task_struct *p, u64 dsq_id, u64 slice, u64 enq_flags) __ksym;
void scx_bpf_dsq_insert_vtime(struct task_struct *p, u64 dsq_id, u64 slice, u64 vtime,
			      u64 enq_flags) __ksym;
_Bool scx_bpf_dsq_move_to_local(u64 dsq_id) __ksym;
_Bool scx_bpf_dsq_move(struct bpf_iter_scx_dsq *it, struct task_struct *p, u64 dsq_id,
		       u64 enq_flags) __ksym;
_Bool scx_bpf_dsq_move_vtime(struct bpf_iter_scx_dsq *it, struct task_struct *p, u64 dsq_id,
			     u64 enq_flags) __ksym;
void scx_bpf_dsq_move_set_vtime(struct bpf_iter_scx_dsq *it, u64 vtime) __ksym;
void scx_bpf_dsq_move_set_slice(struct bpf_iter_scx_dsq *it, u64 slice) __ksym;
int scx_bpf_dsq_nr_queued(u64 dsq_id) __ksym;
void scx_bpf_kick_cpu(int cpu, u64 flags) __ksym;
int scx_bpf_pick_idle_cpu(const struct cpumask *allowed, u64 flags) __ksym;
int scx_bpf_task_cpu(const struct task_struct *p) __ksym;
u64 scx_bpf_now(void) __ksym __weak;
void scx_bpf_exit_bstr(__s64 exit_code, char *format, unsigned long long *data,
		       u32 bytes) __ksym;
_Bool bpf_cpumask_test_cpu(u32 cpu, const struct cpumask *cpumask) __ksym;
struct task_struct *bpf_task_from_pid(int pid) __ksym;
void bpf_rcu_read_lock(void) __ksym;
void bpf_rcu_read_unlock(void) __ksym;
void bpf_task_release(struct task_struct *p) __ksym;
/* If the type were an int here, libbpf would take the function for a missing one. */
int bpf_send_signal_task(struct task_struct *task, int sig, enum pid_type type,
			 u64 value) __ksym __weak;

#endif
