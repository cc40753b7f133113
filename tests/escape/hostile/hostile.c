/* SPDX-License-Identifier: Apache-2.0 */
#include "escape/hostile/hostile.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "wire/agent.h"
#include "wire/agent_files.h"
#include "wire/agent_services.h"
#include "wire/agent_terminal.h"

#define FRAMES_MAX ((size_t)64 * 1024)

const char *const hostile_mode_names[HOSTILE_MODE_COUNT] = {
        "silence",      "close",       "part of a head", "part of a frame",
        "drip",         "garbage",     "empty",          "flood",
        "first again",  "any order",   "huge frame",     "huge count",
        "huge numbers", "descriptors", "odd failures",   "reads nothing",
};

struct hostile {
	int fd;
	uint16_t request;
	unsigned seed;
	int64_t until;
	bool is_huge; /* numbers at their limits */
};

/* ---- well-formed frames ---- */

static void put(struct buf *out, uint16_t type, const struct wire_member *shape,
                const void *message)
{
	struct error err = {0};

	if (wire_encode(out, type, shape, message, &err) < 0)
		abort();
}

static void put_process(const struct hostile *h, struct buf *out, uint16_t type)
{
	static const char *const args[] = {"\033[2J", "", NULL};
	const struct agent_process p = {
	        .process = 1,
	        .state = type == AGENT_EXIT ? AGENT_PROCESS_ENDED : AGENT_PROCESS_RUNNING,
	        .exit_code = h->is_huge ? INT64_MIN : 0,
	        .signal = h->is_huge ? UINT32_MAX : 0,
	        .started_unix_ms = h->is_huge ? UINT64_MAX : 1,
	        .duration_ms = h->is_huge ? UINT64_MAX : 1,
	        .output_end = {h->is_huge ? UINT64_MAX : 9, h->is_huge ? UINT64_MAX : 0},
	        .label = "console:x",
	        .user = "user",
	        .cwd = "/",
	        .args = (const char **)(uintptr_t)args,
	};

	put(out, type, agent_process_shape, &p);
}

static void put_output(const struct hostile *h, struct buf *out, struct span bytes)
{
	const struct agent_output o = {
	        .stream = h->is_huge ? 0 : AGENT_STDOUT,
	        .offset = h->is_huge ? UINT64_MAX - 1 : 0,
	        .bytes = bytes,
	};

	put(out, AGENT_OUTPUT, agent_output_shape, &o);
}

static void put_file(const struct hostile *h, struct buf *out)
{
	const struct agent_file f = {
	        .path = "../../etc/passwd",
	        .link = "",
	        .type = AGENT_FILE_REGULAR,
	        .mode = h->is_huge ? UINT32_MAX : 0644,
	        .size = h->is_huge ? UINT64_MAX : 5,
	        .modified_unix_ms = h->is_huge ? INT64_MIN : 1,
	};

	put(out, AGENT_FILE, agent_file_shape, &f);
}

static void put_state(const struct hostile *h, struct buf *out, uint16_t type)
{
	const uint64_t big = h->is_huge ? UINT64_MAX : 1;

	if (type == AGENT_TERMINAL_STATE)
		put(out, type, agent_terminal_state_shape,
		    &(struct agent_terminal_state){.rows = (uint32_t)big,
		                                   .columns = (uint32_t)big});
	else if (type == AGENT_SERVICE_STATE)
		put(out, type, agent_service_state_shape,
		    &(struct agent_service_state){.id = "x",
		                                  .error = "",
		                                  .phase = (uint32_t)big,
		                                  .restarts = big,
		                                  .again_ms = big,
		                                  .ended_unix_ms = big});
	else if (type == AGENT_CHANGE)
		put(out, type, agent_change_shape,
		    &(struct agent_change){.kind = (uint32_t)big, .path = "/\n/"});
	else if (type == AGENT_ENTRY)
		put(out, type, agent_entry_shape,
		    &(struct agent_entry){.path = "x",
		                          .link = "",
		                          .owner = "",
		                          .group = "",
		                          .size = big,
		                          .modified_s = INT64_MAX});
	else if (type == AGENT_PONG)
		put(out, type, agent_pong_shape,
		    &(struct agent_pong){.processes = (uint32_t)big, .boot_id = "x"});
	else if (type == AGENT_DONE)
		put(out, type, agent_done_shape, &(struct agent_done){big});
	else
		wire_add_frame(out, type, SPAN("\1\2\3\4"));
}

/* A frame of this type that any decoder takes; `is_empty`: with as little in it as can be. */
static void put_frame(const struct hostile *h, struct buf *out, uint16_t type, bool is_empty)
{
	if (type == AGENT_STARTED || type == AGENT_EXIT || type == AGENT_PROCESS)
		put_process(h, out, type);
	else if (type == AGENT_OUTPUT)
		put_output(h, out, is_empty ? (struct span){NULL, 0} : SPAN("bytes"));
	else if (type == AGENT_FILE)
		put_file(h, out);
	else if (type == AGENT_READY || is_empty)
		wire_add_frame(out, type, (struct span){NULL, 0});
	else if (type == AGENT_DATA)
		wire_add_frame(out, type, SPAN("bytes"));
	else
		put_state(h, out, type);
}

/* What an honest answer begins with, and what it repeats. AGENT_NONE: nothing. */
static uint16_t first_of(uint16_t request)
{
	switch (request) {
	case AGENT_EXEC:
	case AGENT_ATTACH:
		return AGENT_STARTED;
	case AGENT_READ:
	case AGENT_STAT:
	case AGENT_MKDIR:
	case AGENT_RENAME:
	case AGENT_COPY:
		return AGENT_FILE;
	case AGENT_WRITE:
	case AGENT_TAR_OUT:
	case AGENT_TAR_IN:
	case AGENT_TAR_BASE:
	case AGENT_WATCH:
		return AGENT_READY;
	case AGENT_FIND_JOB:
	case AGENT_AWAIT:
		return AGENT_PROCESS;
	case AGENT_TERMINAL:
		return AGENT_TERMINAL_STATE;
	case AGENT_SERVICE:
		return AGENT_SERVICE_STATE;
	default:
		return AGENT_NONE;
	}
}

static uint16_t many_of(uint16_t request)
{
	switch (request) {
	case AGENT_EXEC:
	case AGENT_ATTACH:
	case AGENT_SERVICE_LOG:
		return AGENT_OUTPUT;
	case AGENT_PROCESSES:
		return AGENT_PROCESS;
	case AGENT_LIST:
	case AGENT_GLOB:
		return AGENT_FILE;
	case AGENT_WATCH:
		return AGENT_CHANGE;
	case AGENT_COMPARE:
		return AGENT_DIFFERENCE;
	case AGENT_INSPECT:
		return AGENT_ENTRY;
	case AGENT_SERVICES:
		return AGENT_SERVICE_STATE;
	default:
		return AGENT_DATA;
	}
}

/* ---- the modes ---- */

/* False when the other side has hung up, or this has lasted long enough. */
static bool say(const struct hostile *h, struct span frames)
{
	struct error err = {0};

	return clock_monotonic_ms() < h->until && wire_send(h->fd, frames, h->until, &err) == 0;
}

static void await_hang_up(const struct hostile *h, bool reads)
{
	char bytes[4096];
	struct pollfd p = {.fd = h->fd, .events = reads ? POLLIN : 0};

	while (clock_monotonic_ms() < h->until) {
		if (poll(&p, 1, 50) > 0 && (p.revents & (POLLHUP | POLLERR) ||
		                            recv(h->fd, bytes, sizeof(bytes), MSG_DONTWAIT) == 0))
			return;
	}
}

static void begin(const struct hostile *h)
{
	AUTO(buf_done) struct buf out = BUF(FRAMES_MAX);

	if (first_of(h->request))
		put_frame(h, &out, first_of(h->request), false);
	(void)say(h, buf_span(&out));
}

static void repeat(const struct hostile *h, uint16_t type, bool is_empty)
{
	AUTO(buf_done) struct buf out = BUF(FRAMES_MAX);

	for (unsigned i = 0; i < 64; i++)
		put_frame(h, &out, type, is_empty);
	while (say(h, buf_span(&out)))
		;
}

static void send_garbage(struct hostile *h)
{
	char bytes[4096];

	do
		for (size_t i = 0; i < sizeof(bytes); i++)
			bytes[i] = (char)rand_r(&h->seed);
	while (say(h, (struct span){bytes, sizeof(bytes)}));
}

static void send_any_order(struct hostile *h)
{
	AUTO(buf_done) struct buf out = BUF(FRAMES_MAX);

	do {
		buf_reset(&out);
		for (unsigned i = 0; i < 16; i++)
			put_frame(h, &out, (uint16_t)(rand_r(&h->seed) % (AGENT_TYPE_COUNT + 4)),
			          false);
	} while (say(h, buf_span(&out)));
}

static void drip(const struct hostile *h)
{
	unsigned char head[WIRE_HEAD_SIZE];

	begin(h);
	wire_put_head(head, many_of(h->request), WIRE_PAYLOAD_MAX);
	if (!say(h, (struct span){(const char *)head, sizeof(head)}))
		return;
	while (say(h, SPAN("x")))
		(void)usleep(5000);
}

/* 4 GiB by the head; then lists and texts that claim more than the frame has. */
static void lie_about_sizes(const struct hostile *h, bool is_head)
{
	unsigned char head[WIRE_HEAD_SIZE], payload[64];
	uint16_t types[] = {first_of(h->request), many_of(h->request), AGENT_DONE, AGENT_FAILED};

	for (unsigned i = 0; i < COUNT_OF(types); i++) {
		memset(payload, 0xff, sizeof(payload));
		wire_put_head(head, types[i], is_head ? UINT32_MAX : sizeof(payload));
		if (!say(h, (struct span){(const char *)head, sizeof(head)}) ||
		    !say(h, (struct span){(const char *)payload, sizeof(payload)}))
			return;
	}
	await_hang_up(h, true);
}

static void send_huge_numbers(struct hostile *h)
{
	AUTO(buf_done) struct buf out = BUF(FRAMES_MAX);

	h->is_huge = true;
	begin(h);
	put_frame(h, &out, many_of(h->request), false);
	put_frame(h, &out,
	          h->request == AGENT_EXEC || h->request == AGENT_ATTACH ? AGENT_EXIT : AGENT_DONE,
	          false);
	(void)say(h, buf_span(&out));
	await_hang_up(h, true);
}

static bool send_with_descriptors(const struct hostile *h, struct span frame, unsigned count)
{
	int fds[8];
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(fds))];
	} control = {0};
	struct iovec data = {(void *)(uintptr_t)frame.data, frame.size};
	struct msghdr message = {.msg_iov = &data,
	                         .msg_iovlen = 1,
	                         .msg_control = &control,
	                         .msg_controllen = CMSG_SPACE(sizeof(int) * count)};
	ssize_t sent;

	for (unsigned i = 0; i < count; i++)
		fds[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
	control.align.cmsg_level = SOL_SOCKET;
	control.align.cmsg_type = SCM_RIGHTS;
	control.align.cmsg_len = CMSG_LEN(sizeof(int) * count);
	memcpy(CMSG_DATA(&control.align), fds, sizeof(int) * count);
	do
		sent = sendmsg(h->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (sent < 0 && errno == EAGAIN && clock_monotonic_ms() < h->until && usleep(1000) == 0);
	for (unsigned i = 0; i < count; i++)
		close(fds[i]);
	return sent > 0;
}

static void pass_descriptors(const struct hostile *h)
{
	AUTO(buf_done) struct buf out = BUF(FRAMES_MAX);
	unsigned count = 1;

	put_frame(h, &out, first_of(h->request) ? first_of(h->request) : AGENT_DONE, false);
	put_frame(h, &out, many_of(h->request), false);
	while (clock_monotonic_ms() < h->until && send_with_descriptors(h, buf_span(&out), count))
		count = count % 8 + 1;
}

static void fail_oddly(struct hostile *h)
{
	AUTO(buf_done) struct buf out = BUF(FRAMES_MAX);

	for (uint32_t code = 0; code < ERROR_CODE_COUNT + 2; code++)
		put(&out, AGENT_FAILED, agent_failed_shape,
		    &(struct agent_failed){
		            .code = rand_r(&h->seed) % 2 ? code : UINT32_MAX - code,
		            .sys_errno = UINT32_MAX,
		            .text = "%s%n\r\nX-Injected: 1",
		            .hint = "\033[31m",
		    });
	wire_add_frame(&out, AGENT_FAILED, SPAN("\xff\xff\xff\xff"));
	while (say(h, buf_span(&out)))
		;
}

void hostile_answer(int fd, uint16_t request, enum hostile_mode mode, unsigned seed)
{
	struct hostile h = {fd, request, seed, deadline_after(HOSTILE_MS_MAX), false};

	switch (mode) {
	case HOSTILE_CLOSE:
		return;
	case HOSTILE_PART_OF_A_HEAD:
		(void)say(&h, SPAN("\4\0\0"));
		break;
	case HOSTILE_PART_OF_A_FRAME:
		begin(&h);
		(void)say(&h, SPAN("\1\0\0\0\3"));
		break;
	case HOSTILE_DRIP:
		drip(&h);
		return;
	case HOSTILE_GARBAGE:
		send_garbage(&h);
		return;
	case HOSTILE_EMPTY_FRAMES:
	case HOSTILE_FLOOD:
		begin(&h);
		repeat(&h, many_of(request), mode == HOSTILE_EMPTY_FRAMES);
		return;
	case HOSTILE_FIRST_AGAIN:
		repeat(&h, first_of(request) ? first_of(request) : AGENT_READY, false);
		return;
	case HOSTILE_ANY_ORDER:
		send_any_order(&h);
		return;
	case HOSTILE_HUGE_FRAME:
	case HOSTILE_HUGE_COUNT:
		lie_about_sizes(&h, mode == HOSTILE_HUGE_FRAME);
		return;
	case HOSTILE_HUGE_NUMBERS:
		send_huge_numbers(&h);
		return;
	case HOSTILE_DESCRIPTORS:
		pass_descriptors(&h);
		return;
	case HOSTILE_ODD_FAILURES:
		fail_oddly(&h);
		return;
	case HOSTILE_SILENCE:
	case HOSTILE_READS_NOTHING:
	case HOSTILE_MODE_COUNT:
		break;
	}
	await_hang_up(&h, mode != HOSTILE_READS_NOTHING);
}
