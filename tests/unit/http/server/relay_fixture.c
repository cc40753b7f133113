/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "relay_fixture.h"
#include "unit.h"

struct relay_fixture shared = {.mutex = PTHREAD_MUTEX_INITIALIZER,
                               .changed = PTHREAD_COND_INITIALIZER};

static int on_frame(struct relay *relay, char kind, struct span payload, struct error *err)
{
	switch (kind) {
	case FRAME_BEGIN:
		relay_begin_header(relay, "X-Frame", "begin");
		relay_begin(relay, 200, "text/plain", shared.length);
		return 0;
	case FRAME_DATA:
		relay_write(relay, payload);
		return 0;
	case FRAME_TEXT:
		relay_write_text_message(relay, payload);
		return 0;
	case FRAME_END:
		relay_finish(relay);
		return 0;
	case FRAME_BAD_HEADER:
		relay_begin_header(relay, "X-Bad", "a\r\nSet-Cookie: b");
		return 0;
	default:
		return FAIL(err, ERROR_UNAVAILABLE, "an unknown frame");
	}
}

static int on_upstream(void *state, struct relay *relay, struct span *in, struct error *err)
{
	(void)state;
	while (in->size >= 5) {
		uint32_t size;
		char kind = in->data[0];
		struct span payload;

		memcpy(&size, in->data + 1, 4);
		if (in->size - 5 < size)
			return 0;
		payload = (struct span){in->data + 5, size};
		*in = (struct span){in->data + 5 + size, in->size - 5 - size};
		if (on_frame(relay, kind, payload, err) < 0)
			return -1;
	}
	return 0;
}

static int on_upstream_end(void *state, struct relay *relay, struct error *err)
{
	(void)state;
	(void)relay;
	return FAIL(err, ERROR_UNAVAILABLE, "the upstream went away");
}

static int on_client(void *state, struct relay *relay, struct span bytes, bool last,
                     struct error *err)
{
	(void)state;
	(void)err;
	pthread_mutex_lock(&shared.mutex);
	shared.client_bytes += bytes.size;
	shared.client_last |= last;
	pthread_cond_signal(&shared.changed);
	pthread_mutex_unlock(&shared.mutex);
	if (shared.upstream_gives_up) {
		send_frame(FRAME_UNKNOWN, (struct span){NULL, 0});
		(void)shutdown(shared.upstream, SHUT_RDWR);
	}
	relay_to_upstream(relay, bytes);
	return 0;
}

static int say_more(void *state, struct relay *relay, struct span *in, struct error *err)
{
	(void)state;
	(void)relay;
	(void)err;
	*in = (struct span){NULL, 0};
	shared.said++;
	assert_int_equal(send(shared.upstream, "x", 1, MSG_NOSIGNAL), 1);
	return 0;
}

static int close_ears(void *state, struct relay *relay, struct span bytes, bool last,
                      struct error *err)
{
	struct span first = {NULL, 0};

	(void)last;
	assert_int_equal(shutdown(shared.upstream, SHUT_RD), 0);
	relay_to_upstream(relay, bytes);
	return say_more(state, relay, &first, err);
}

static void on_start(void *state, struct relay *relay)
{
	(void)state;
	relay_begin(relay, 200, "text/event-stream", -1);
	relay_write(relay, SPAN("started "));
}

static void on_tick(void *state, struct relay *relay)
{
	char text[8];

	(void)state;
	if (shared.ticks == 0 && shared.options.ops != &start_ops)
		relay_begin(relay, 200, "text/event-stream", -1);
	snprintf(text, sizeof(text), "%d", shared.ticks++);
	relay_write(relay, span_of(text));
	if (shared.ticks == 3)
		relay_finish(relay);
}

static void on_release(void *state, int upstream_fd, bool clean)
{
	(void)state;
	pthread_mutex_lock(&shared.mutex);
	shared.released++;
	shared.clean = clean;
	shared.returned_fd = upstream_fd;
	pthread_cond_signal(&shared.changed);
	pthread_mutex_unlock(&shared.mutex);
}

static const struct relay_ops frame_ops = {.on_upstream = on_upstream,
                                           .on_upstream_end = on_upstream_end,
                                           .on_client = on_client,
                                           .release = on_release};
const struct relay_ops endless_ops = {
        .on_upstream = say_more, .on_client = close_ears, .release = on_release};
const struct relay_ops start_ops = {
        .on_start = on_start, .on_tick = on_tick, .release = on_release};
const struct relay_ops tick_ops = {.on_tick = on_tick, .release = on_release};

/* Opens the upstream; the relay gets one end, the test the other. */
static struct relay_options make_options(void)
{
	struct relay_options options = shared.options;
	int fds[2];

	if (!options.ops)
		options.ops = &frame_ops;
	if (shared.with_pipe)
		assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	else
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	options.upstream_fd = shared.without_upstream ? -1 : fds[0];
	if (shared.without_upstream)
		close(fds[0]);
	pthread_mutex_lock(&shared.mutex);
	shared.upstream = fds[1];
	shared.started++;
	pthread_cond_signal(&shared.changed);
	pthread_mutex_unlock(&shared.mutex);
	return options;
}

static int start_relay(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	struct relay_options options = make_options();

	(void)rq;
	(void)body;
	(void)err;
	reply_relay(reply, &options);
	return 0;
}

static int start_and_fail(struct request *rq, const void *body, struct reply *reply,
                          struct error *err)
{
	(void)start_relay(rq, body, reply, err);
	return FAIL(err, ERROR_LIMIT, "not now");
}

static int start_websocket(struct request *rq, const void *body, struct reply *reply,
                           struct error *err)
{
	struct relay_options options = make_options();

	(void)body;
	return reply_websocket(rq, reply, "test", &options, err);
}

static int answer_next(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	(void)rq;
	(void)body;
	(void)err;
	reply_text(reply, "text/plain", SPAN("next"));
	return 0;
}

static const struct route routes[] = {
        {HTTP_GET, "/relay", .flags = ROUTE_PUBLIC, .handle = start_relay},
        {HTTP_GET, "/inline", .flags = ROUTE_PUBLIC | ROUTE_INLINE, .handle = start_relay},
        {HTTP_PUT, "/upload", .flags = ROUTE_PUBLIC | ROUTE_STREAM_BODY, .handle = start_relay},
        {HTTP_PUT, "/small", .flags = ROUTE_PUBLIC | ROUTE_STREAM_BODY, .body_max = 10,
         .handle = start_relay},
        {HTTP_GET, "/fail", .flags = ROUTE_PUBLIC, .handle = start_and_fail},
        {HTTP_GET, "/socket", .flags = ROUTE_PUBLIC | ROUTE_WEBSOCKET, .handle = start_websocket},
        {HTTP_GET, "/next", .flags = ROUTE_PUBLIC, .handle = answer_next},
        {0},
};

/* ---- the test's side ---- */

void open_all(const struct server_options *limits)
{
	shared.upstream = shared.returned_fd = -1;
	shared.started = shared.released = shared.ticks = 0;
	shared.clean = shared.client_last = shared.with_pipe = shared.without_upstream = false;
	shared.upstream_gives_up = false;
	shared.client_bytes = 0;
	shared.said = 0;
	shared.length = -1;
	shared.options = (struct relay_options){0};
	fixture_open(&shared.fixture, routes, limits);
}

void close_all(int client)
{
	if (client >= 0)
		close(client);
	fixture_close(&shared.fixture);
	assert_int_equal(shared.started, shared.released);
	if (shared.upstream >= 0)
		close(shared.upstream);
	if (shared.clean && shared.returned_fd >= 0)
		close(shared.returned_fd);
}

int await_upstream(void)
{
	pthread_mutex_lock(&shared.mutex);
	while (shared.upstream < 0)
		pthread_cond_wait(&shared.changed, &shared.mutex);
	pthread_mutex_unlock(&shared.mutex);
	return shared.upstream;
}

bool await_release(void)
{
	bool clean;

	pthread_mutex_lock(&shared.mutex);
	while (!shared.released)
		pthread_cond_wait(&shared.changed, &shared.mutex);
	clean = shared.clean;
	pthread_mutex_unlock(&shared.mutex);
	return clean;
}

bool is_released_within(int64_t time_ms)
{
	int64_t until_ms = clock_unix_ms() + time_ms;
	const struct timespec until = {.tv_sec = until_ms / 1000,
	                               .tv_nsec = until_ms % 1000 * 1000000};
	bool released;

	pthread_mutex_lock(&shared.mutex);
	while (!shared.released &&
	       pthread_cond_timedwait(&shared.changed, &shared.mutex, &until) == 0)
		continue;
	released = shared.released > 0;
	pthread_mutex_unlock(&shared.mutex);
	return released;
}

bool is_released(void)
{
	return is_released_within(0);
}

int ask(const char *request)
{
	int fd = client_connect(&shared.fixture);

	client_send(fd, request);
	return fd;
}

void send_frame(enum frame_kind kind, struct span payload)
{
	char head[5] = {(char)kind};
	uint32_t size = (uint32_t)payload.size;
	int fd = await_upstream();

	memcpy(head + 1, &size, 4);
	assert_int_equal(write(fd, head, 5), 5);
	if (size)
		assert_int_equal(write(fd, payload.data, size), size);
}
