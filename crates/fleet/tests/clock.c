/* A clock that is wrong: loaded before libc, it adds the seconds in the file
 * $TEST_CLOCK to what programs read of the time of day. The file may change at
 * any time. Monotonic clocks are left alone, as when a real clock is set. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long wrong_by_s(void)
{
	const char *name = getenv("TEST_CLOCK");
	char text[32] = "";
	int file = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;

	if (file >= 0) {
		if (read(file, text, sizeof(text) - 1) < 0)
			text[0] = 0;
		close(file);
	}
	return atol(text);
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
	static int (*real)(clockid_t, struct timespec *);
	int failed;

	if (!real)
		real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
	failed = real(clock, now);
	if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
		now->tv_sec += wrong_by_s();
	return failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
	struct timespec exact;

	(void)zone;
	if (clock_gettime(CLOCK_REALTIME, &exact))
		return -1;
	now->tv_sec = exact.tv_sec;
	now->tv_usec = exact.tv_nsec / 1000;
	return 0;
}

time_t time(time_t *place)
{
	struct timespec now;

	if (clock_gettime(CLOCK_REALTIME, &now))
		return -1;
	if (place)
		*place = now.tv_sec;
	return now.tv_sec;
}
