/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A member in C, or C++: says what it sees, one thing a line. */
#include <takt/beats.h>

int main(int argc, char **argv)
{
	struct takt_beat_terms terms;
	struct takt_beat beat;
	struct takt_beat_job job;
	uint64_t beat_ns;
	int period;

	(void)argv;
	memset(&terms, 0, sizeof(terms));
	terms.period_ns = 40000000;
	terms.budget_ns = 8000000;
	terms.lead_ns = 20000;
	terms.overrun = "signal";
	terms.group = "a\"v";
	terms.member = 2;
	terms.member_count = 3;
	terms.handoff = "free";
	printf("join %d %s\n", takt_beat_join(&beat, argc > 1 ? NULL : &terms), beat.problem);
	printf("slack %d\n", prctl(PR_GET_TIMERSLACK, 0UL, 0UL, 0UL, 0UL));
	printf("read %d\n", takt_beat_read(&beat, &job));
	printf("job %llu deadline %llu\n", (unsigned long long)takt_beat_job(&beat),
	       (unsigned long long)(takt_beat_deadline_ns(&beat) - takt_beat_beat_ns(&beat)));
	printf("overran %d\n", takt_beat_overran(&beat));
	printf("lost %d\n", takt_beat_lost(&beat));
	beat_ns = takt_beat_beat_ns(&beat);
	for (period = 0; period < 3; period++)
		takt_beat_done(&beat);
	takt_beat_pass(&beat, 3);
	takt_beat_end(&beat);
	printf("waited %d\n", takt_beat_clock_ns() >= beat_ns);
	printf("leave %d %s\n", takt_beat_leave(&beat), beat.problem);
	return 0;
}
