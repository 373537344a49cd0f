/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A limit of processor time for a group of threads: a quota in every period (cpu.max of control
 * groups). Like a byte clock, it is the time from which on the group may run again:
 *
 *   A thread that ran for t moves the clock on by t * period / quota. While the clock is ahead of
 *   now, no thread of the group may run.
 *
 * So over any time the group gets its part of it, whenever its threads are stopped: what they ran
 * beyond it they wait for. A group that ran less has credit: the clock is behind now by at most
 * one period, and what cpu.max.burst adds; or by a moment, if that is less than one run.
 *
 * Several CPUs may charge a group at the same time.
 */
#ifndef TAKT_BANDWIDTH_H
#define TAKT_BANDWIDTH_H

#include "abi.h"

#define TAKT_BANDWIDTH_OFF (~0ULL)	/* a quota that limits nothing, as the kernel has it */

/* No thread waits longer, whatever the quota: the kernel ends a scheduler that lets one starve. */
#define TAKT_BANDWIDTH_WAIT_MAX_NS 10000000000ULL

/* Threads are stopped and let go within some milliseconds: with less credit they would lose it. */
#define TAKT_BANDWIDTH_CREDIT_MIN_NS 20000000ULL

/*
 * What a thread runs at once, from tick to tick. A group with a smaller quota takes several periods
 * at once, and more credit is of no use to it. It would only keep many such groups in step: that
 * waited for each other once, and would all be due at the same moment ever after.
 */
#define TAKT_BANDWIDTH_RUN_US 4000ULL

#define TAKT_BANDWIDTH_STEP_LONG_NS 500000000ULL

struct takt_bandwidth {
	u64 period_ns;		/* at most a second */
	u64 quota_ns;
	u64 credit_ns;
	u64 next_ns;		/* the clock */
};

TAKT_FN void takt_bandwidth_set(struct takt_bandwidth *bandwidth, u64 period_us, u64 quota_us,
				u64 burst_us)
{
	u64 whole_us = quota_us + takt_min(burst_us, quota_us);

	bandwidth->period_ns = period_us * 1000;
	bandwidth->quota_ns = takt_max(quota_us * 1000, 1);
	bandwidth->credit_ns = TAKT_BANDWIDTH_CREDIT_MIN_NS;
	if (whole_us >= TAKT_BANDWIDTH_RUN_US)
		bandwidth->credit_ns =
			takt_max(bandwidth->period_ns * whole_us / takt_max(quota_us, 1),
				 TAKT_BANDWIDTH_CREDIT_MIN_NS);
}

/*
 * How far the clock moves on for a run. Where that is long, it varies by a quarter, the same on
 * average: many groups that began together would else be due together, and others have to share
 * the CPU with all of them then.
 */
TAKT_FN u64 takt_bandwidth_step(const struct takt_bandwidth *bandwidth, u64 now_ns, u64 ran_ns)
{
	u64 step_ns = ran_ns * bandwidth->period_ns / takt_max(bandwidth->quota_ns, 1);
	u64 random = now_ns * 0x9e3779b97f4a7c15ULL >> 54;	/* of 1,024 */

	if (step_ns < TAKT_BANDWIDTH_STEP_LONG_NS)
		return step_ns;
	return step_ns - step_ns / 4 + step_ns / 2048 * random;
}

/* A thread of the group ran until now. */
TAKT_FN void takt_bandwidth_charge(struct takt_bandwidth *bandwidth, u64 now_ns, u64 ran_ns)
{
	u64 ran = takt_min(ran_ns, TAKT_BANDWIDTH_WAIT_MAX_NS), next_ns = bandwidth->next_ns;
	u64 behind_ns = ran_ns + bandwidth->credit_ns;
	u64 least_ns = now_ns > behind_ns ? now_ns - behind_ns : 0;

	if (next_ns < least_ns)
		__sync_val_compare_and_swap(&bandwidth->next_ns, next_ns, least_ns);
	__sync_fetch_and_add(&bandwidth->next_ns, takt_bandwidth_step(bandwidth, now_ns, ran));
	next_ns = bandwidth->next_ns;
	if (next_ns > now_ns + TAKT_BANDWIDTH_WAIT_MAX_NS)
		__sync_val_compare_and_swap(&bandwidth->next_ns, next_ns,
					    now_ns + TAKT_BANDWIDTH_WAIT_MAX_NS);
}

/* How long its threads must wait; 0: they may run. */
TAKT_FN u64 takt_bandwidth_wait(const struct takt_bandwidth *bandwidth, u64 now_ns)
{
	u64 next_ns = bandwidth->next_ns;

	return next_ns > now_ns ? next_ns - now_ns : 0;
}

#endif
