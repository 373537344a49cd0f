// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Runs the steps of algo/'s test vectors inside the kernel. */
#include "kernel.h"
#include "vectors.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct takt_vector_state state;

/* Through memory the pointer becomes a number for the verifier. */
static volatile u64 packet_at;

SEC("syscall")
int takt_vectors_run(struct takt_vector_step *step)
{
	packet_at = (u64)state.packet;
	takt_vector_run(&state, step, packet_at);
	return 0;
}
