/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * For threads that run on the beat (docs/beats.md). There is nothing to link; it needs only the C
 * library, in C11 or C++.
 *
 *	struct takt_beat beat;
 *	struct takt_beat_terms terms = { .period_ns = 40000000, .budget_ns = 8000000 };
 *
 *	if (takt_beat_join(&beat, &terms) < 0)
 *		fprintf(stderr, "%s\n", beat.problem);
 *	for (;;) {
 *		work();
 *		takt_beat_done(&beat);
 *	}
 *
 * The same program works without Takt: takt_beat_join() fails with the reason, and
 * takt_beat_done() is sched_yield(), which under SCHED_DEADLINE ends the period, too.
 *
 * A struct takt_beat belongs to the thread that joined with it. Times are CLOCK_MONOTONIC, in
 * nanoseconds. Functions that can fail return 0 or a negative errno; beat->problem then gives the
 * reason, in words.
 */
#ifndef TAKT_BEATS_H
#define TAKT_BEATS_H

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#else
/* -std=c11 hides these. */
long syscall(long number, ...);
#ifndef CLOCK_MONOTONIC
#define CLOCK_MONOTONIC 1
int clock_gettime(int clock, struct timespec *now);
#endif
#endif

#ifndef TAKT_BEAT_SOCKET
#define TAKT_BEAT_SOCKET "/run/taktd/socket"
#endif
#ifndef TAKT_BEAT_PIN
#define TAKT_BEAT_PIN "/sys/fs/bpf/takt-beats/takt_jobs"
#endif

/* Job pages of threads that takt-dispatch keeps, by their numbers. */
#ifndef TAKT_BEAT_DISPATCHED
#define TAKT_BEAT_DISPATCHED "/run/takt-dispatch/jobs/"
#endif

#define TAKT_BEAT_PAGES 256U
#define TAKT_BEAT_PASS_MARK 0x74616B7468616E64ULL	/* in the first argument of sched_yield() */
#define TAKT_BEAT_PATIENCE_S 10	/* waiting time for taktd's answer */

/* Written by the scheduler for each member, as in bpf/beats/beats_maps.h. */
struct takt_job_page {
	uint32_t tid;
	uint32_t sequence;	/* odd during an update */
	uint64_t job;
	uint64_t beat_ns;
	uint64_t deadline_ns;
	uint64_t period_ns;
	uint64_t budget_ns;
	uint64_t overruns;
	uint64_t waits;		/* not 0: sched_yield() does not wait; see takt_beat_wait() */
};

struct takt_beat {
	const struct takt_job_page *page;	/* NULL: without Takt */
	const struct takt_job_page *pages;
	uint32_t tid;		/* in the host's numbering */
	int is_joined;
	uint64_t overruns_seen;
	char problem[256];
};

/*
 * The terms of a reservation: either a task that the policy declares, or period and budget. Zero
 * means not given.
 */
struct takt_beat_terms {
	const char *task;
	const char *task_member;	/* if the task is a group */

	uint64_t period_ns;
	uint64_t budget_ns;
	uint64_t offset_ns;
	int has_offset;
	uint64_t lead_ns;	/* release this much earlier; takt_beat_done() waits out the rest */
	const char *overrun;	/* "demote", "signal", "stop-group" or "wait" */
	const char *group;
	uint32_t member;	/* of the group, from 1 */
	uint32_t member_count;
	/*
	 * The period is period_ns / period_per; 0 is 1. 64 frames at 48 kHz, without drift:
	 * .period_ns = 64000000000, .period_per = 48000.
	 */
	uint32_t period_per;
	const char *handoff;	/* of the group: "order" or "free" */
	const char *lead;	/* "auto": learned, instead of lead_ns */
};

/* The job that the thread runs, or ran last. */
struct takt_beat_job {
	uint64_t job;		/* the number of its period since the clock's 0, from 1 */
	uint64_t beat_ns;	/* when it was to begin */
	uint64_t deadline_ns;	/* when its last slot ends */
	uint64_t period_ns;	/* without a fraction */
	uint64_t budget_ns;
	uint64_t overruns;	/* jobs of this task that overran */
};

static inline uint64_t takt_beat_clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

/* Read the present job. -ENOENT: the thread has no reservation. */
static inline int takt_beat_read(const struct takt_beat *beat, struct takt_beat_job *job)
{
	const struct takt_job_page *page = beat->page;
	int tries;

	memset(job, 0, sizeof(*job));
	if (!page)
		return -ENOENT;
	for (tries = 0; tries < 1000; tries++) {
		uint32_t before = __atomic_load_n(&page->sequence, __ATOMIC_ACQUIRE);
		uint32_t tid = __atomic_load_n(&page->tid, __ATOMIC_RELAXED);

		job->job = __atomic_load_n(&page->job, __ATOMIC_RELAXED);
		job->beat_ns = __atomic_load_n(&page->beat_ns, __ATOMIC_RELAXED);
		job->deadline_ns = __atomic_load_n(&page->deadline_ns, __ATOMIC_RELAXED);
		job->period_ns = __atomic_load_n(&page->period_ns, __ATOMIC_RELAXED);
		job->budget_ns = __atomic_load_n(&page->budget_ns, __ATOMIC_RELAXED);
		job->overruns = __atomic_load_n(&page->overruns, __ATOMIC_RELAXED);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (!(before & 1) &&
		    __atomic_load_n(&page->sequence, __ATOMIC_RELAXED) == before)
			return tid == beat->tid ? 0 : -ENOENT;
	}
	return -EAGAIN;
}

/* The number of the job; 0 without Takt. */
static inline uint64_t takt_beat_job(const struct takt_beat *beat)
{
	struct takt_beat_job job;

	return takt_beat_read(beat, &job) ? 0 : job.job;
}

/* When the job was to begin; 0 without Takt. */
static inline uint64_t takt_beat_beat_ns(const struct takt_beat *beat)
{
	struct takt_beat_job job;

	return takt_beat_read(beat, &job) ? 0 : job.beat_ns;
}

/* When its last slot ends; 0 without Takt. */
static inline uint64_t takt_beat_deadline_ns(const struct takt_beat *beat)
{
	struct takt_beat_job job;

	return takt_beat_read(beat, &job) ? 0 : job.deadline_ns;
}

/* Whether a job overran since the last call, or since the thread joined. */
static inline int takt_beat_overran(struct takt_beat *beat)
{
	struct takt_beat_job job;
	int has;

	if (takt_beat_read(beat, &job))
		return 0;
	has = job.overruns != beat->overruns_seen;
	beat->overruns_seen = job.overruns;
	return has;
}

/* A thread that was released with a lead waits out the rest, on the CPU. */
static inline void takt_beat_wait_out(const struct takt_beat *beat)
{
	struct takt_beat_job job;
	uint64_t now_ns;

	if (takt_beat_read(beat, &job))
		return;
	now_ns = takt_beat_clock_ns();
	/* A lead is shorter than a period; this beat is a later one. */
	if (now_ns >= job.beat_ns || job.beat_ns - now_ns >= job.period_ns)
		return;
	while (takt_beat_clock_ns() < job.beat_ns) {
#if defined(__x86_64__) || defined(__i386__)
		__builtin_ia32_pause();
#endif
	}
}

/*
 * A dispatcher in the scheduler's place does not see a thread yield: the thread waits until the
 * page is written for the next job. Two periods at most: a dispatcher that died writes no more.
 */
static inline void takt_beat_wait(const struct takt_job_page *page)
{
	const int futex_wait = 0;
	uint32_t seen = __atomic_load_n(&page->sequence, __ATOMIC_ACQUIRE);
	uint64_t patience_ns = 2 * __atomic_load_n(&page->period_ns, __ATOMIC_RELAXED);
	uint64_t until_ns = takt_beat_clock_ns() + patience_ns, now_ns;

	/* While the next job is being written it has begun. */
	while (!(seen & 1) && __atomic_load_n(&page->sequence, __ATOMIC_ACQUIRE) == seen) {
		struct timespec left;

		now_ns = takt_beat_clock_ns();
		if (now_ns >= until_ns)
			return;
		left.tv_sec = (time_t)((until_ns - now_ns) / 1000000000U);
		left.tv_nsec = (long)((until_ns - now_ns) % 1000000000U);
		syscall(SYS_futex, &page->sequence, futex_wait, seen, &left, NULL, 0);
	}
}

/*
 * This job's work is done. Returns at the next beat; without Takt, after a sched_yield(). If the
 * thread is released with a lead, it waits out the rest here, on the CPU.
 */
static inline void takt_beat_done(const struct takt_beat *beat)
{
	if (beat->page && __atomic_load_n(&beat->page->waits, __ATOMIC_ACQUIRE))
		takt_beat_wait(beat->page);
	else
		sched_yield();
	takt_beat_wait_out(beat);
}

/*
 * In a group with handoff "free": passes this thread's turn to another member, from 1, and returns
 * when another member passes it back. A member that does not wait for its turn is skipped: the next
 * in order gets it that does. A number that is no other member's is takt_beat_done(); the thread's
 * own number keeps the turn. Without Takt, for a group in order, and in programs of 32 bits, as
 * takt_beat_done().
 */
static inline void takt_beat_pass(const struct takt_beat *beat, uint32_t member)
{
	/* sched_yield() has no arguments; Takt looks at what is there (bpf/beats/pass.h). */
	syscall(SYS_sched_yield, (unsigned long)TAKT_BEAT_PASS_MARK, (unsigned long)member);
	takt_beat_wait_out(beat);
}

/*
 * In a group with handoff "free": ends the group's work of this period; the first member begins the
 * next. Returns when this thread has its turn again. Otherwise as takt_beat_done().
 */
static inline void takt_beat_end(const struct takt_beat *beat)
{
	takt_beat_pass(beat, 0);
}

/* From here on: how a thread gets its reservation. */

static inline int takt_beat_fail(struct takt_beat *beat, int error, const char *why)
{
	snprintf(beat->problem, sizeof(beat->problem), "%s", why);
	return error;
}

static inline int takt_beat_map(struct takt_beat *beat, int fd)
{
	void *pages = mmap(NULL, TAKT_BEAT_PAGES * sizeof(struct takt_job_page), PROT_READ,
			   MAP_SHARED, fd, 0);

	close(fd);
	if (pages == MAP_FAILED)
		return -errno;
	beat->pages = (const struct takt_job_page *)pages;
	return 0;
}

static inline void takt_beat_unmap(struct takt_beat *beat)
{
	if (beat->pages)
		munmap((void *)(uintptr_t)beat->pages,
		       TAKT_BEAT_PAGES * sizeof(struct takt_job_page));
	beat->pages = NULL;
	beat->page = NULL;
}

/* The thread's page among those of a map or a file, which is closed. */
static inline int takt_beat_search(struct takt_beat *beat, int fd)
{
	uint32_t at;
	int error = takt_beat_map(beat, fd);

	if (error)
		return error;
	for (at = 0; at < TAKT_BEAT_PAGES; at++) {
		if (__atomic_load_n(&beat->pages[at].tid, __ATOMIC_ACQUIRE) == beat->tid) {
			beat->page = &beat->pages[at];
			return 0;
		}
	}
	takt_beat_unmap(beat);
	return -ENOENT;
}

/* Find the reservation that the thread has of takt-dispatch. */
static inline int takt_beat_find_dispatched(struct takt_beat *beat)
{
	char path[sizeof(TAKT_BEAT_DISPATCHED) + 16];
	struct stat found;
	int fd;

	snprintf(path, sizeof(path), "%s%u", TAKT_BEAT_DISPATCHED, beat->tid);
	fd = open(path, O_RDONLY);	/* closed again below */
	if (fd < 0)
		return -errno;
	/* Reading beyond a file's end would be a SIGBUS. */
	if (fstat(fd, &found) ||
	    (size_t)found.st_size < TAKT_BEAT_PAGES * sizeof(struct takt_job_page)) {
		close(fd);
		return -ENOENT;
	}
	return takt_beat_search(beat, fd);
}

/* Find the reservation that the thread already has. Only root can read the pin. */
static inline int takt_beat_find(struct takt_beat *beat)
{
	struct {
		uint64_t pathname;
		uint32_t bpf_fd;
		uint32_t file_flags;	/* none: a read-only descriptor cannot be mapped */
	} get;
	const long bpf_obj_get = 7;
	int fd;

	memset(&get, 0, sizeof(get));
	get.pathname = (uint64_t)(uintptr_t)TAKT_BEAT_PIN;
	fd = (int)syscall(SYS_bpf, bpf_obj_get, &get, sizeof(get));
	if (fd >= 0 && !takt_beat_search(beat, fd))
		return 0;
	return takt_beat_find_dispatched(beat);
}

/* A request under construction; is_bad is set if it is too long. */
struct takt_beat_line {
	char text[1024];
	size_t length;
	int is_bad;
};

static inline void takt_beat_put(struct takt_beat_line *line, const char *text)
{
	size_t length = strlen(text);

	if (line->length + length >= sizeof(line->text)) {
		line->is_bad = 1;
		return;
	}
	memcpy(line->text + line->length, text, length + 1);
	line->length += length;
}

static inline void takt_beat_put_number(struct takt_beat_line *line, const char *key,
					uint64_t number)
{
	char text[64];

	snprintf(text, sizeof(text), ",\"%s\":%llu", key, (unsigned long long)number);
	takt_beat_put(line, text);
}

static inline void takt_beat_put_name(struct takt_beat_line *line, const char *key,
				      const char *name)
{
	takt_beat_put(line, ",\"");
	takt_beat_put(line, key);
	takt_beat_put(line, "\":\"");
	for (; *name; name++) {
		char text[3] = { *name, 0, 0 };

		if ((unsigned char)*name < 0x20)
			line->is_bad = 1;
		if (*name == '"' || *name == '\\') {
			text[0] = '\\';
			text[1] = *name;
		}
		takt_beat_put(line, text);
	}
	takt_beat_put(line, "\"");
}

static inline void takt_beat_put_terms(struct takt_beat_line *line,
				       const struct takt_beat_terms *terms)
{
	if (terms->task)
		takt_beat_put_name(line, "task", terms->task);
	if (terms->task_member)
		takt_beat_put_name(line, "member", terms->task_member);
	if (terms->period_ns && terms->period_per > 1) {
		char text[40];

		snprintf(text, sizeof(text), "%llu/%luns", (unsigned long long)terms->period_ns,
			 (unsigned long)terms->period_per);
		takt_beat_put_name(line, "period", text);
	} else if (terms->period_ns) {
		takt_beat_put_number(line, "period_ns", terms->period_ns);
	}
	if (terms->budget_ns)
		takt_beat_put_number(line, "budget_ns", terms->budget_ns);
	if (terms->has_offset || terms->offset_ns)
		takt_beat_put_number(line, "offset_ns", terms->offset_ns);
	if (terms->lead)
		takt_beat_put_name(line, "lead", terms->lead);
	else if (terms->lead_ns)
		takt_beat_put_number(line, "lead_ns", terms->lead_ns);
	if (terms->overrun)
		takt_beat_put_name(line, "overrun", terms->overrun);
	if (terms->group) {
		struct takt_beat_line group;

		memset(&group, 0, sizeof(group));
		takt_beat_put_name(&group, "name", terms->group);
		takt_beat_put_number(&group, "member", terms->member);
		takt_beat_put_number(&group, "of", terms->member_count);
		if (terms->handoff)
			takt_beat_put_name(&group, "handoff", terms->handoff);
		takt_beat_put(line, ",\"group\":{");
		takt_beat_put(line, group.text + 1);
		takt_beat_put(line, "}");
		line->is_bad |= group.is_bad;
	}
}

/* Send one line and receive one line, and perhaps a descriptor. */
static inline int takt_beat_ask(struct takt_beat *beat, struct takt_beat_line *line, int *fd)
{
	struct timeval patience = { TAKT_BEAT_PATIENCE_S, 0 };
	struct sockaddr_un address;
	size_t sent = 0, length = 0;
	int s;

	*fd = -1;
	if (line->is_bad)
		return takt_beat_fail(beat, -EINVAL,
				      "a name is too long or has control characters");
	s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (s < 0)
		return takt_beat_fail(beat, -errno, "no socket can be made");
	setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	memset(&address, 0, sizeof(address));
	address.sun_family = AF_UNIX;
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", TAKT_BEAT_SOCKET);
	if (connect(s, (const struct sockaddr *)&address, sizeof(address))) {
		close(s);
		return takt_beat_fail(beat, -ENOTCONN,
				      "taktd is not running; start it as root: taktd");
	}
	while (sent < line->length) {
		ssize_t n = send(s, line->text + sent, line->length - sent, MSG_NOSIGNAL);

		if (n <= 0)
			break;
		sent += (size_t)n;
	}
	/* The answer overwrites the request. */
	while (length + 1 < sizeof(line->text) && !memchr(line->text, '\n', length)) {
		union {
			struct cmsghdr header;
			char space[CMSG_SPACE(sizeof(int))];
		} control;
		struct iovec part;
		struct msghdr message;
		struct cmsghdr *header;
		ssize_t n;

		part.iov_base = line->text + length;
		part.iov_len = sizeof(line->text) - 1 - length;
		memset(&message, 0, sizeof(message));
		message.msg_iov = &part;
		message.msg_iovlen = 1;
		message.msg_control = control.space;
		message.msg_controllen = sizeof(control.space);
		n = recvmsg(s, &message, MSG_CMSG_CLOEXEC);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		length += (size_t)n;
		header = CMSG_FIRSTHDR(&message);
		if (header && header->cmsg_level == SOL_SOCKET &&
		    header->cmsg_type == SCM_RIGHTS && *fd < 0)
			memcpy(fd, CMSG_DATA(header), sizeof(*fd));
	}
	close(s);
	line->text[length] = 0;
	line->length = length;
	if (!strncmp(line->text, "{\"ok\":", 6))
		return 0;
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	return -EPROTO;
}

/* Append the text of an answer's key to the problem. */
static inline int takt_beat_put_problem(struct takt_beat *beat, const char *answer,
					const char *key, const char *before)
{
	const char *from = strstr(answer, key);
	size_t at = strlen(beat->problem);

	if (!from)
		return 0;
	for (; *before && at + 1 < sizeof(beat->problem); before++)
		beat->problem[at++] = *before;
	for (from += strlen(key); *from && *from != '"' && at + 1 < sizeof(beat->problem); from++) {
		if (*from == '\\' && from[1])
			from++;
		beat->problem[at++] = *from;
	}
	beat->problem[at] = 0;
	return 1;
}

static inline int takt_beat_refused(struct takt_beat *beat, const char *answer)
{
	beat->problem[0] = 0;
	if (!takt_beat_put_problem(beat, answer, "\"message\":\"", ""))
		return takt_beat_fail(beat, -EPROTO, "taktd gave no answer that makes sense");
	takt_beat_put_problem(beat, answer, "\"fix\":\"", "; ");
	return -EPERM;
}

static inline int takt_beat_answer_number(const char *answer, const char *key, uint32_t *number)
{
	const char *from = strstr(answer, key);

	if (!from)
		return 0;
	*number = (uint32_t)strtoul(from + strlen(key), NULL, 10);
	return 1;
}

/*
 * Reserve time for the calling thread or, without terms, find the reservation that it has by the
 * policy's rules or by `takt run`. In any case, the thread's timers are exact from then on, and
 * takt_beat_done() may be called. -EPERM: refused; -ENOTCONN: taktd does not run.
 */
static inline int takt_beat_join(struct takt_beat *beat, const struct takt_beat_terms *terms)
{
	struct takt_beat_line line;
	struct takt_beat_job job;
	uint32_t page;
	int fd, error;

	memset(beat, 0, sizeof(*beat));
	beat->tid = (uint32_t)syscall(SYS_gettid);
	prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
	if (!terms && !takt_beat_find(beat)) {
		beat->is_joined = 1;
	} else {
		memset(&line, 0, sizeof(line));
		takt_beat_put(&line, "{\"join_beat\":{\"tid\":");
		snprintf(line.text + line.length, 16, "%u", beat->tid);
		line.length = strlen(line.text);
		if (terms)
			takt_beat_put_terms(&line, terms);
		takt_beat_put(&line, "}}\n");
		error = takt_beat_ask(beat, &line, &fd);
		if (error == -EPROTO)
			return takt_beat_refused(beat, line.text);
		if (error)
			return error;
		beat->is_joined = 1;
		/* Without the pages the thread runs on the beat, but cannot read its job. */
		if (fd >= 0 && !takt_beat_map(beat, fd) &&
		    takt_beat_answer_number(line.text, "\"tid\":", &beat->tid) &&
		    takt_beat_answer_number(line.text, "\"page\":", &page) &&
		    page < TAKT_BEAT_PAGES)
			beat->page = &beat->pages[page];
	}
	if (!takt_beat_read(beat, &job))
		beat->overruns_seen = job.overruns;
	return 0;
}

/*
 * Whether the reservation was taken back since the thread joined, to make room for the tasks of a
 * policy; beat->problem then gives taktd's reason. While the reservation exists, this only reads
 * the page.
 */
static inline int takt_beat_lost(struct takt_beat *beat)
{
	struct takt_beat_line line;
	struct takt_beat_job job;
	int fd, error;

	if (!beat->is_joined || !beat->page || takt_beat_read(beat, &job) != -ENOENT)
		return 0;
	memset(&line, 0, sizeof(line));
	snprintf(line.text, sizeof(line.text), "{\"join_beat\":{\"tid\":%u}}\n",
		 (uint32_t)syscall(SYS_gettid));
	line.length = strlen(line.text);
	error = takt_beat_ask(beat, &line, &fd);
	if (fd >= 0)
		close(fd);
	if (error == -EPROTO)
		takt_beat_refused(beat, line.text);
	return error != 0;
}

/* Become an ordinary thread again. A reservation on terms is free for others. */
static inline int takt_beat_leave(struct takt_beat *beat)
{
	struct takt_beat_line line;
	int fd, error = 0;

	if (beat->is_joined) {
		memset(&line, 0, sizeof(line));
		snprintf(line.text, sizeof(line.text), "{\"leave_beat\":{\"tid\":%u}}\n",
			 (uint32_t)syscall(SYS_gettid));
		line.length = strlen(line.text);
		error = takt_beat_ask(beat, &line, &fd);
		if (error == -EPROTO)
			error = takt_beat_refused(beat, line.text);
		if (fd >= 0)
			close(fd);
	}
	if (error)
		return error;
	beat->is_joined = 0;
	takt_beat_unmap(beat);
	return 0;
}

#ifdef __cplusplus
}
#endif

#endif
