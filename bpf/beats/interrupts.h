/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The time that interrupts take from a beat: in their handlers, and in receiving the packets that
 * they announce, while a member runs. It counts towards the member's budget all the same.
 *
 * A handler within receiving counts once. Interrupts that the processor handles without a number
 * (its own timer, calls from other CPUs) are not seen. Nor is other deferred work: a check at
 * every softirq costs 212 instructions, and one softirq is each edge's own, which must be short.
 */
#ifndef TAKT_INTERRUPTS_H
#define TAKT_INTERRUPTS_H

#include "state.h"

#define IN_HANDLER 1U
#define IN_RECEIVING 2U

static __always_inline int interrupts_begin(u32 kind)
{
	struct takt_cpu *c = cpu_of(bpf_get_smp_processor_id());

	if (!c || c->tier != TIER_BEAT)
		return 0;
	if (!c->interrupts)
		c->interrupted_ns = bpf_ktime_get_ns();
	c->interrupts |= kind;
	return 0;
}

static __always_inline int interrupts_end(u32 kind)
{
	struct takt_cpu *c = cpu_of(bpf_get_smp_processor_id());
	struct takt_task *task;
	u64 until_ns;

	if (!c || !(c->interrupts & kind))
		return 0;
	c->interrupts &= ~kind;
	if (c->interrupts)
		return 0;
	task = task_of(c->task);
	until_ns = bpf_ktime_get_ns();
	/* It came before the member's code did. */
	if (c->interrupted_ns < c->ready_ns)
		c->ready_ns += until_ns - c->interrupted_ns;
	until_ns = takt_min(until_ns, c->end_ns);
	if (task && until_ns > c->interrupted_ns)
		task->stats.stolen_interrupts_ns += until_ns - c->interrupted_ns;
	return 0;
}

SEC("tp_btf/irq_handler_entry")
int takt_beats_irqin(void *ctx)
{
	return interrupts_begin(IN_HANDLER);
}

SEC("tp_btf/irq_handler_exit")
int takt_beats_irqout(void *ctx)
{
	return interrupts_end(IN_HANDLER);
}

SEC("fentry/net_rx_action")
int takt_beats_rxin(void *ctx)
{
	return interrupts_begin(IN_RECEIVING);
}

SEC("fexit/net_rx_action")
int takt_beats_rxout(void *ctx)
{
	return interrupts_end(IN_RECEIVING);
}

#endif
