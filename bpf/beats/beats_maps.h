/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The layouts that the scheduler of beats shares with user space, beyond algo/slots.h. */
#ifndef TAKT_BEATS_MAPS_H
#define TAKT_BEATS_MAPS_H

#include "bandwidth.h"
#include "early.h"
#include "histogram.h"
#include "lead.h"
#include "slots.h"
#include "starve.h"
#include "turns.h"

/* Raised whenever a struct that user space shares changes; pinned beside the maps. */
#define TAKT_BEATS_ABI 8

#define TAKT_TASKS 256U
#define TAKT_MEMBERS 256U	/* threads of all tasks */
#define TAKT_THREAD_NAME_BYTES 16
#define TAKT_LLCS 64U		/* last-level caches; further ones share numbers with them */

/* What happens to a thread that has used up its budget. */
#define TAKT_OVERRUN_DEMOTE 0U		/* an ordinary one until the next period */
#define TAKT_OVERRUN_SIGNAL 1U		/* that, and SIGXCPU */
#define TAKT_OVERRUN_STOP_GROUP 2U	/* the whole task ordinary, until the next policy */
#define TAKT_OVERRUN_WAIT 3U		/* it waits for its next slot */

/* Two per task, as there are two per table. */
struct takt_task_params {
	struct takt_turns_params turns;
	u32 home_cpu;		/* of its first slot; its threads wait there */
	u32 first_member;	/* the others follow */
	u32 overrun;
	u32 end_ns;		/* of its last slot, within the period */
	u32 lead_max_ns;	/* of a lead that calibrates itself; 0: it is as in the table */
	u32 pad;
};

struct takt_task_stats {
	u64 releases;		/* jobs whose slot came */
	u64 missed;		/* of these, those in which no member came before the next job */
	u64 outside;		/* of these, those whose member came when no slot was open */
	u64 completed;		/* jobs in which all members yielded, or one ended the job */
	u64 overruns;		/* jobs undone at the end of budget or slot */
	u64 used_ns;
	u64 used_max_ns;	/* of one job */
	u64 lateness_max_ns;	/* from the release until the first member runs */
	u64 lateness_sum_ns;
	u64 started;		/* jobs whose lateness is known */
	u64 passed;		/* turns that a member passed to another of its choice */
	u64 skipped;		/* of these, with another going next: the chosen one did not wait */
	u64 cut_late_max_ns;	/* from the end of budget or slot to the end of running */
	u64 stolen_interrupts_ns;	/* while a member ran */
	u64 stolen_higher_ns;	/* while a member was preempted within its slot */
	u64 lateness[TAKT_BUCKETS];
};

struct takt_task {
	struct takt_turns turns;
	u64 job;		/* last released */
	u64 started_job;	/* last in which a member ran */
	u64 admitted_job;	/* last for which a member came to the CPU */
	u32 stopped;		/* by TAKT_OVERRUN_STOP_GROUP */
	u32 stalled;		/* the member whose turn it is stays away: not waited for */
	u32 absent;		/* a slot of this job has opened, and no member has come yet */
	u32 pad;
	u64 away_since_ns;	/* ... since then; 0: it is there */
	u64 outside_at_ns;	/* when, within its period, a member last came outside of slots */
	struct takt_lead lead;
	struct takt_task_stats stats;
};

/* A member of a task, which a thread may hold. */
struct takt_member {
	u32 tid;		/* 0: no thread holds it */
	u32 task;
	u32 ordinal;		/* within the task, in order of turns */
	u32 expected;		/* a policy has this member */
};

/* Which thread gets a member by rule. All conditions must hold. */
#define TAKT_RULE_THREAD 1U	/* the thread's name */
#define TAKT_RULE_COMMAND 2U	/* its process's */
#define TAKT_RULE_CGROUP 4U	/* the path of its control group, or of one above it */
#define TAKT_RULE_UNIT 8U	/* the last name of such a path */
#define TAKT_RULE_LEADER 16U	/* the first thread of its process */

struct takt_member_rule {
	u32 asks;		/* TAKT_RULE_*; 0: none */
	u32 pad;
	u64 thread[2];		/* padded with zeros */
	u64 command[2];
	u64 cgroup;		/* FNV-1a, as in names.h */
	u64 unit;
};

/* For the member itself to read; user space maps it. One per member. */
struct takt_job_page {
	u32 tid;
	u32 sequence;		/* odd during an update */
	u64 job;
	u64 beat_ns;		/* CLOCK_MONOTONIC, as all times */
	u64 deadline_ns;	/* the end of the job's last slot so far */
	u64 period_ns;
	u64 budget_ns;
	u64 overruns;		/* jobs undone at the end of budget or slot, of this task */
	u64 pad;		/* not 0 in the pages of takt-dispatch */
};

struct takt_cpu_stats {
	u64 edges;		/* times that the table was read */
	u64 edge_late_max_ns;	/* the timer's lateness */
	u64 swaps;
};

/* One CPU. Written on that CPU alone. */
struct takt_cpu {
	struct takt_span span;	/* the open slot, or the next */
	u64 armed_ns;		/* the alarm's time; 0: not set */
	u64 edge_ns;		/* ... and the edge it is for */
	u64 aim_ns;		/* when the thread's code is to run there */
	u64 woken_ns;		/* when the last alarm went on to admit */
	u64 since_ns;		/* when the running beat began */
	u64 since_clock_ns;	/* ... any other thread, by the kernel's count of its time */
	u64 job;		/* of the running beat */
	u64 end_ns;		/* ... and when its budget or its slot is over */
	u64 ready_ns;		/* when the running beat's code runs; 0: its start is noted */
	u64 released_ns;	/* ... when its slot opened */
	u64 took_ns;		/* ... and the time from the alarm to the switch; 0: no alarm */
	u64 stopped_ns;		/* when the last beat stopped; 0: another thread ran since */
	u64 tick_ns;		/* when the last tick was seen */
	u64 looked_ns;		/* the time for which the table was last read */
	u32 tier;		/* of the running thread */
	u32 task;		/* of the running beat; TAKT_NO_TASK */
	u32 half;		/* the tables in force here */
	u32 generation;		/* ... and their number, by user space */
	u32 sequence;		/* odd during an update of span */
	u32 network_debt_ns;	/* time of network threads while ordinary ones waited */
	u32 frees;		/* the host's value when last seen */
	u32 offline;
	u32 open;		/* the span is open, and its job not done */
	u32 strays;		/* members may wait here outside of their slots */
	u32 interrupts;		/* kinds of interrupts in progress while a beat runs */
	u32 returning;		/* an eligible member waits in the CPU's own queue */
	u64 interrupted_ns;	/* ... since then */
	u64 ordinary_ns;	/* time of ordinary threads so far */
	u64 overdue_ns;		/* when one last came because it had waited for long */
	u64 vtime;		/* of the running ordinary thread, when it came */
	u64 vtime_ns;		/* ... and when that was, by scheduler_clock_ns() */
	u32 weight;		/* ... and its weight */
	u32 llc;		/* its last-level cache, by user space */
	u32 ticked;		/* a tick came, and the caches were not compared since */
	u32 compared;		/* the cache that was compared last */
	u32 from;		/* what the last alarm interrupted */
	u32 comes;		/* a member that it admitted comes next */
	u32 came_from;		/* what the running beat's alarm interrupted */
	u32 calibrates;		/* a thread that calibrates waits for an alarm */
	u32 kernel_waits;	/* a kernel thread of this CPU waits for a beat */
	u32 waited;		/* the running beat waited for its slot */
	struct takt_early early;
	struct takt_cpu_stats stats;
};

/* The exit code of the scheduler if a realtime thread let ordinary ones starve. */
#define TAKT_BEATS_EXIT_REALTIME 1

/* One per host. */
struct takt_beats {
	u32 generation;		/* of the tables to use; its lowest bit is the half */
	u32 rule_count;
	u32 member_count;	/* members in use, or lately */
	u32 cpu_count;
	u32 llc_count;		/* last-level caches, at least 1 */
	u32 exit_kind;		/* enum scx_exit_kind; 0: it runs */
	u32 frees;		/* times that threads may have begun to wait in vain */
	u32 pad;
	u64 exit_code;
	char exit_reason[128];
	char exit_message[256];
};

/* Arguments and result of takt_beats_reserve and takt_beats_recognise. */
struct takt_join_args {
	u32 tid;
	u32 member;
	int result;		/* 0, or a negative errno */
	u32 pad;
};

/* Arguments of takt_beats_calibrate. */
struct takt_calibrate_args {
	u64 now_ns;		/* as the thread has just read it; 0: it ends */
};

struct takt_beats_commit_args {
	u32 generation;
	u32 pad;
};

#endif
