/* SPDX-License-Identifier: Apache-2.0 */
#include "calls/receiver.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/thread.h"
#include "calls/stream.h"
#include "config/config.h"
#include "edge/api.h"
#include "fleet/core/work_lane.h"
#include "wire/agent.h"

#define ANSWER_MS 10000
/* Bytes of one body in a round of the receiver, so that uploads share the thread. */
#define READ_MAX ((size_t)64 * 1024)
#define HELD_MAX (WIRE_PAYLOAD_MAX + WIRE_HEAD_SIZE + READ_MAX)
/* How often the clock is checked while uploads are received. */
#define LOOK_MS 250

/* Owned by the handler, then by the receiver, then by the lane. */
struct receiver_upload {
	struct work_lane_task task;
	struct list item;    /* in receiver->arrived or receiver->receiving */
	struct list counted; /* in receiver->counted; under its mutex */
	struct receiver *receiver;
	const struct receiver_upload_ops *ops;
	void *state; /* NULL once `done` has been called */
	struct work_lane *lane;
	const char *what;
	int socket, fd;
	struct buf held; /* bytes of incomplete frames */
	int64_t bytes, bytes_max;
	int64_t begun_ms, heard_ms; /* monotonic */
	/* The failure was sent, and the receiver drops further bytes until this time; 0: not
	 * failed.
	 */
	int64_t drop_until_ms;
	bool is_whole; /* the body is complete */
	char project_id[];
};

struct receiver {
	struct api *api;
	pthread_t thread;
	int wake; /* an eventfd */

	pthread_mutex_t mutex; /* guards the rest of this block */
	bool has_thread, is_stopping;
	struct list arrived; /* uploads that the thread has not seen yet */
	struct list counted;
	struct receiver_counts counts;

	struct list receiving; /* used by the thread only */
};

static void uncount_upload(struct receiver_upload *u)
{
	struct receiver *r = u->receiver;

	pthread_mutex_lock(&r->mutex);
	if (!list_is_empty(&u->counted)) {
		assert(r->counts.uploads > 0);
		list_remove(&u->counted);
		r->counts.uploads--;
	}
	pthread_mutex_unlock(&r->mutex);
}

static void end_state(struct receiver_upload *u)
{
	if (u->state)
		u->ops->done(TAKE(u->state));
	fd_forget(&u->fd);
}

static void upload_free(struct receiver_upload *u)
{
	end_state(u);
	uncount_upload(u);
	list_remove(&u->item);
	auto_close(&u->socket);
	buf_done(&u->held);
	free(u);
}

static void write_failure(const struct error *why, struct buf *out)
{
	const struct agent_failed failed = agent_failed_of(why);
	struct error ignored;

	if (wire_encode(out, AGENT_FAILED, agent_failed_shape, &failed, &ignored) < 0)
		buf_reset(out); /* the loop sees the closed socket */
}

/* Keeps the socket open for a while: if it were closed while the loop still sends, the loop would
 * see a broken pipe instead of the failure. */
static void refuse_upload(struct receiver_upload *u, struct error *why)
{
	AUTO(buf_done) struct buf out = BUF(AGENT_DATA_MAX);

	error_context(why, "receive %s", u->what);
	write_failure(why, &out);
	(void)!send(u->socket, out.data, out.size, MSG_DONTWAIT | MSG_NOSIGNAL);
	buf_done(&u->held);
	end_state(u);
	uncount_upload(u);
	u->drop_until_ms = deadline_after(ANSWER_MS);
}

static bool client_has_left(int socket)
{
	char byte;

	return recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

/* On a thread of the lane. Does nothing for a client that has left while the work was queued. */
static void run_work(struct work_lane_task *task)
{
	struct receiver_upload *u = CONTAINER_OF(task, struct receiver_upload, task);
	AUTO(buf_done) struct buf out = BUF(2 * AGENT_DATA_MAX);
	AUTO(buf_done) struct buf json = BUF(AGENT_DATA_MAX);
	struct error err = {0}, ignored;

	if (!client_has_left(u->socket)) {
		if (u->ops->work(u->state, u->fd, &json, &err) == 0)
			wire_add_frame(&out, AGENT_DATA, buf_span(&json));
		else
			write_failure(&err, &out);
		(void)!wire_send(u->socket, buf_span(&out), deadline_after(ANSWER_MS), &ignored);
	}
	upload_free(u);
}

static int queue_work(struct receiver_upload *u, struct error *err)
{
	u->task = (struct work_lane_task){.run = run_work};
	return work_lane_submit(u->lane, &u->task, u->project_id, err);
}

static int take_bytes(struct receiver_upload *u, struct span bytes, struct error *err)
{
	u->bytes += (int64_t)bytes.size;
	if (u->bytes > u->bytes_max)
		return FAIL(err, ERROR_TOO_LARGE, "it has more than %" PRId64 " MiB",
		            u->bytes_max >> 20);
	if (u->ops->add && u->ops->add(u->state, (int64_t)bytes.size, err) < 0)
		return -1;
	return fd_write_all(u->fd, bytes.data, bytes.size, err);
}

/* 1: the body is whole; 0: more is to come. */
static int take_frames(struct receiver_upload *u, struct error *err)
{
	struct span in = buf_span(&u->held), payload;
	uint16_t type;
	int result;

	while (!u->is_whole && (result = wire_next(&in, &type, &payload, NULL, err)) != 0) {
		if (result < 0)
			return -1;
		u->is_whole = type == AGENT_DATA_END;
		if (type == AGENT_DATA && take_bytes(u, payload, err) < 0)
			return -1;
	}
	buf_consume(&u->held, u->held.size - in.size);
	return u->is_whole;
}

static void finish_body(struct receiver_upload *u)
{
	struct error err = {0};

	buf_done(&u->held);
	list_remove(&u->item);
	if (lseek(u->fd, 0, SEEK_SET) < 0)
		(void)FAIL_ERRNO(&err, "rewind a file");
	else if (queue_work(u, &err) == 0)
		return; /* the lane has it */
	list_append(&u->receiver->receiving, &u->item);
	refuse_upload(u, &err);
}

/* An end of file means that the client has left. */
static bool is_end(ssize_t size)
{
	return size == 0 || (size < 0 && errno != EAGAIN && errno != EINTR);
}

static void drop_bytes(struct receiver_upload *u)
{
	char bytes[4096];

	if (is_end(recv(u->socket, bytes, sizeof(bytes), MSG_DONTWAIT)))
		upload_free(u);
}

static void receive_bytes(struct receiver_upload *u)
{
	char *room = buf_reserve(&u->held, READ_MAX);
	struct error err = {0};
	ssize_t size;
	int result;

	assert(room); /* take_frames leaves less than a frame */
	size = recv(u->socket, room, READ_MAX, MSG_DONTWAIT);
	if (is_end(size)) {
		log_debug("the client of an upload has left", TEXT("upload", u->what),
		          NUMBER("bytes", u->bytes));
		upload_free(u);
		return;
	}
	if (size < 0)
		return;
	buf_commit(&u->held, (size_t)size);
	u->heard_ms = clock_monotonic_ms();
	result = take_frames(u, &err);
	if (result < 0)
		refuse_upload(u, &err);
	else if (result > 0)
		finish_body(u);
}

static int check_pace(const struct receiver_upload *u, int64_t now_ms, struct error *err)
{
	const struct config *config = u->receiver->api->config;
	int64_t idle_ms = config->upload_idle_ms, took_ms = now_ms - u->begun_ms;

	if (now_ms - u->heard_ms > idle_ms)
		(void)FAIL(err, ERROR_TIMEOUT, "nothing has come for %" PRId64 " s",
		           idle_ms / 1000);
	else if (took_ms > idle_ms && u->bytes < config->upload_rate_min * took_ms / 1000)
		(void)FAIL(err, ERROR_TIMEOUT,
		           "%" PRId64 " bytes in %" PRId64 " s are fewer than %" PRId64 " a second",
		           u->bytes, took_ms / 1000, config->upload_rate_min);
	else
		return 0;
	error_hint(err, "see upload_idle and upload_rate_min");
	return -1;
}

/* False when the upload was freed. */
static bool check_clock(struct receiver_upload *u, int64_t now_ms)
{
	struct error err = {0};

	if (u->drop_until_ms > 0) {
		if (now_ms <= u->drop_until_ms)
			return true;
		upload_free(u);
		return false;
	}
	if (check_pace(u, now_ms, &err) == 0)
		return true;
	pthread_mutex_lock(&u->receiver->mutex);
	u->receiver->counts.given_up++;
	pthread_mutex_unlock(&u->receiver->mutex);
	refuse_upload(u, &err);
	return true;
}

/* False when the receiver must stop. */
static bool take_arrived(struct receiver *r)
{
	bool goes_on;

	pthread_mutex_lock(&r->mutex);
	LIST_EACH (&r->arrived, struct receiver_upload, u, item) {
		list_remove(&u->item);
		list_append(&r->receiving, &u->item);
	}
	goes_on = !r->is_stopping;
	pthread_mutex_unlock(&r->mutex);
	return goes_on;
}

static size_t collect_sockets(struct receiver *r, struct pollfd **polled)
{
	size_t count = 1 + list_count(&r->receiving), at = 1;

	*polled = realloc(*polled, count * sizeof(**polled));
	if (!*polled)
		abort();
	(*polled)[0] = (struct pollfd){.fd = r->wake, .events = POLLIN};
	LIST_EACH (&r->receiving, struct receiver_upload, u, item)
		(*polled)[at++] = (struct pollfd){.fd = u->socket, .events = POLLIN};
	return count;
}

/* `polled` has the order of the list: an upload removes only itself from the list. */
static void receive_ready(struct receiver *r, const struct pollfd *polled, size_t count)
{
	int64_t now_ms = clock_monotonic_ms();
	size_t at = 1;

	LIST_EACH (&r->receiving, struct receiver_upload, u, item) {
		bool is_ready;

		if (at >= count)
			break;
		is_ready = polled[at++].revents != 0;
		if (!check_clock(u, now_ms) || !is_ready)
			continue;
		if (u->drop_until_ms > 0)
			drop_bytes(u);
		else
			receive_bytes(u);
	}
}

static void *run_receiver(void *context)
{
	struct receiver *r = context;
	struct pollfd *polled = NULL;
	uint64_t ignored;

	(void)prctl(PR_SET_NAME, "uploads", 0, 0, 0);
	while (take_arrived(r)) {
		size_t count = collect_sockets(r, &polled);

		if (poll(polled, count, count > 1 ? LOOK_MS : -1) < 0 && errno != EINTR)
			abort();
		(void)!read(r->wake, &ignored, sizeof(ignored));
		receive_ready(r, polled, count);
	}
	LIST_EACH (&r->receiving, struct receiver_upload, u, item)
		upload_free(u);
	free(polled);
	return NULL;
}

static int on_message(UNUSED struct stream *s, struct relay *relay, uint16_t type,
                      struct span payload, struct error *err)
{
	if (type != AGENT_DATA)
		return stream_unexpected(type, err);
	relay_answer(relay, 201, "application/json", payload);
	return 0;
}

static int on_client(UNUSED struct stream *s, struct relay *relay, struct span bytes, bool last,
                     struct error *err)
{
	stream_send_bytes(relay, AGENT_DATA, bytes);
	return last ? stream_send(relay, AGENT_DATA_END, NULL, NULL, err) : 0;
}

static const struct stream_ops body_ops = {
        .size = sizeof(struct stream), .on_message = on_message, .on_client = on_client};
static const struct stream_ops answer_ops = {.size = sizeof(struct stream),
                                             .on_message = on_message};

static struct receiver_upload *upload_new(struct receiver *r,
                                          const struct receiver_upload_options *o)
{
	size_t size = strlen(o->project_id) + 1;
	struct receiver_upload *u = memory_new(sizeof(*u) + size);

	u->receiver = r;
	u->ops = o->ops;
	u->state = o->state;
	u->lane = o->lane;
	u->what = o->what;
	u->bytes_max = o->bytes_max;
	u->socket = u->fd = -1;
	u->held = BUF(HELD_MAX);
	u->begun_ms = u->heard_ms = clock_monotonic_ms();
	list_init(&u->item);
	list_init(&u->counted);
	memcpy(u->project_id, o->project_id, size);
	return u;
}

/* The caller holds the mutex. */
static unsigned count_of_project(const struct receiver *r, const char *project_id)
{
	unsigned count = 0;

	LIST_EACH (&r->counted, const struct receiver_upload, u, counted)
		count += strcmp(u->project_id, project_id) == 0;
	return count;
}

/* The caller holds the mutex. */
static int check_upload_limits(struct receiver *r, const char *project_id, struct error *err)
{
	const struct config *config = r->api->config;

	if (count_of_project(r, project_id) >= (unsigned)config->uploads_per_project_max) {
		r->counts.refused++;
		(void)FAIL(err, ERROR_LIMIT, "%d uploads of this project are under way",
		           (int)config->uploads_per_project_max);
		error_hint(err, "try again when one has ended; see uploads_per_project_max");
		return -1;
	}
	if (r->counts.uploads >= (unsigned)config->uploads_max) {
		r->counts.refused++;
		(void)FAIL(err, ERROR_UNAVAILABLE, "%d uploads are under way",
		           (int)config->uploads_max);
		error_hint(err, "try again; see uploads_max");
		return -1;
	}
	return 0;
}

static int count_upload(struct receiver_upload *u, struct error *err)
{
	struct receiver *r = u->receiver;
	int result;

	pthread_mutex_lock(&r->mutex);
	result = check_upload_limits(r, u->project_id, err);
	if (result == 0) {
		list_append(&r->counted, &u->counted);
		r->counts.uploads++;
	}
	pthread_mutex_unlock(&r->mutex);
	return result;
}

static int open_file(struct receiver_upload *u, struct request *rq, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const char *folder = arena_format(&arena, "%s/tmp", u->receiver->api->config->data_dir);

	if (u->ops->open)
		return u->ops->open(u->state, rq, &u->fd, err);
	u->fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	return u->fd < 0 ? FAIL_ERRNO(err, "make a file for %s", u->what) : 0;
}

/* *ret_fd is the other end of u->socket. */
static int connect_loop(struct receiver_upload *u, int *ret_fd, struct error *err)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return FAIL_ERRNO(err, "make a socket pair");
	u->socket = pair[1];
	*ret_fd = pair[0];
	return 0;
}

/* The caller holds the mutex. */
static int start_thread(struct receiver *r, struct error *err)
{
	if (r->has_thread)
		return 0;
	errno = thread_start(&r->thread, NULL, run_receiver, r);
	r->has_thread = errno == 0;
	return r->has_thread ? 0 : FAIL_ERRNO(err, "start the thread of uploads");
}

static int hand_to_receiver(struct receiver_upload *u, struct error *err)
{
	struct receiver *r = u->receiver;
	const uint64_t one = 1;
	int result;

	pthread_mutex_lock(&r->mutex);
	result = r->is_stopping ? FAIL(err, ERROR_UNAVAILABLE, "the server is stopping")
	                        : start_thread(r, err);
	if (result == 0)
		list_append(&r->arrived, &u->item);
	pthread_mutex_unlock(&r->mutex);
	if (result == 0 && write(r->wake, &one, sizeof(one)) < 0)
		abort(); /* an eventfd takes 2^64 - 2 of these */
	return result;
}

static void start_stream(const struct stream_ops *ops, int fd, struct reply *reply)
{
	const struct stream_options options = {.fd = fd};
	struct fleet_hold none = {.fleet = NULL};

	stream_start(stream_new(ops, &none), reply, &options);
}

static int check_size(const struct request *rq, const struct receiver_upload *u, struct error *err)
{
	int64_t size = request_body_size(rq);

	if (size <= u->bytes_max)
		return 0;
	return FAIL(err, ERROR_TOO_LARGE, "%s has %" PRId64 " MiB; at most %" PRId64 " are taken",
	            u->what, size >> 20, u->bytes_max >> 20);
}

int receiver_take(struct request *rq, const struct receiver_upload_options *options,
                  struct reply *reply, struct error *err)
{
	struct receiver_upload *u = upload_new(api_of(rq)->receiver, options);
	int loops_end;

	if (check_size(rq, u, err) < 0 || count_upload(u, err) < 0 || open_file(u, rq, err) < 0 ||
	    connect_loop(u, &loops_end, err) < 0) {
		upload_free(u);
		return -1;
	}
	if (hand_to_receiver(u, err) < 0) {
		upload_free(u);
		(void)close(loops_end);
		return -1;
	}
	start_stream(&body_ops, loops_end, reply);
	return 0;
}

int receiver_queue(struct request *rq, const struct receiver_upload_options *options,
                   struct reply *reply, struct error *err)
{
	struct receiver_upload *u = upload_new(api_of(rq)->receiver, options);
	int loops_end;

	if (connect_loop(u, &loops_end, err) < 0) {
		upload_free(u);
		return -1;
	}
	if (queue_work(u, err) < 0) {
		upload_free(u);
		(void)close(loops_end);
		return -1;
	}
	start_stream(&answer_ops, loops_end, reply);
	return 0;
}

struct receiver *receiver_new(struct api *api)
{
	struct receiver *r = memory_new(sizeof(*r));

	r->api = api;
	r->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (r->wake < 0)
		abort();
	pthread_mutex_init(&r->mutex, NULL);
	list_init(&r->arrived);
	list_init(&r->counted);
	list_init(&r->receiving);
	return r;
}

void receiver_stop(struct receiver *receiver)
{
	const uint64_t one = 1;
	bool had_thread;

	if (!receiver)
		return;
	pthread_mutex_lock(&receiver->mutex);
	receiver->is_stopping = true;
	had_thread = receiver->has_thread;
	receiver->has_thread = false;
	pthread_mutex_unlock(&receiver->mutex);
	if (!had_thread)
		return;
	if (write(receiver->wake, &one, sizeof(one)) < 0)
		abort(); /* see hand_to_receiver */
	(void)pthread_join(receiver->thread, NULL);
}

void receiver_free(struct receiver *receiver)
{
	if (!receiver)
		return;
	receiver_stop(receiver);
	assert(list_is_empty(&receiver->counted));
	pthread_mutex_destroy(&receiver->mutex);
	auto_close(&receiver->wake);
	free(receiver);
}

struct receiver_counts receiver_counts_get(struct receiver *receiver)
{
	struct receiver_counts counts;

	pthread_mutex_lock(&receiver->mutex);
	counts = receiver->counts;
	pthread_mutex_unlock(&receiver->mutex);
	return counts;
}
