/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/native/broker_client.h"

#include <assert.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/list.h"
#include "base/log.h"
#include "base/map.h"
#include "base/thread.h"
#include "provider/broker_load.h"
#include "trace/timing.h"
#include "wire/names.h"
#include "provider/unix_connect.h"
#include "wire/broker.h"
#include "wire/broker_disk.h"
#include "wire/broker_sandbox.h"

#define HELLO_MS 5000     /* for the first exchange on a connection */
#define RECONNECT_MS 5000 /* how long a new call waits for a broker that went away */
#define RETRY_MS 50       /* between attempts to connect again, */
#define RETRY_MS_MAX 1000 /* doubled up to this */
#define TICK_MS 5000
#define PACKET_MAX (WIRE_HEAD_SIZE + WIRE_PAYLOAD_MAX)
#define REPLIES_MAX ((size_t)16 << 20) /* bytes of one call's replies that wait for the caller */

struct broker_client {
	struct broker_client_options options;
	char *socket_path;
	pthread_t thread;
	struct arena arena; /* of `welcome` */
	struct broker_welcome welcome;
	/* Held while sending, and to change `fd`: one packet at a time, never on a descriptor that
	 * was closed. Taken before `mutex`, which the reader needs while a sender has to wait. */
	pthread_mutex_t send_mutex;
	int fd;
	pthread_mutex_t mutex;  /* guards what follows */
	pthread_cond_t changed; /* of the next three */
	bool connected, last_calls, closing;
	struct list waiters;
	uint64_t request_last;
};

struct broker_waiter {
	struct list item;
	uint64_t request;
	pthread_cond_t ready;
	struct buf replies; /* whole frames, in order */
	bool broken;        /* the stream has ended */
	struct timed_call timed;
};

static void condition_init(pthread_cond_t *condition)
{

	thread_condition_init(condition);
}

/* False when the deadline has passed. */
static bool condition_wait(pthread_cond_t *condition, pthread_mutex_t *mutex, int64_t deadline)
{
	if (deadline == DEADLINE_NEVER)
		return pthread_cond_wait(condition, mutex) == 0;
	struct timespec until = {deadline / 1000, deadline % 1000 * 1000000};
	return pthread_cond_timedwait(condition, mutex, &until) == 0;
}

static int64_t earlier_time(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int failed_reply(struct arena *a, struct span payload, struct error *err)
{
	struct broker_failed failed;

	if (wire_decode(a, payload, broker_failed_shape, &failed, sizeof(failed), err) < 0)
		return FAIL_CONTEXT(err, "broker");
	bool is_known = failed.code > ERROR_NONE && failed.code < ERROR_CODE_COUNT;
	error_set(err, is_known ? (enum error_code)failed.code : ERROR_SYSTEM, 0, HERE, "%s",
	          failed.text);
	/* The error's text already contains the message. */
	err->sys_errno = (int)failed.sys_errno;
	return FAIL_HINT(err, "%s", failed.hint);
}

/* 1 = the call is over; 0 = more replies follow. */
static int take_frame(const struct broker_call *call, uint16_t type, struct span payload,
                      struct error *err)
{
	AUTO(arena_done) struct arena scratch = {0};
	struct broker_ok ok;

	if (type == BROKER_FAILED)
		return failed_reply(&scratch, payload, err);
	if (type == BROKER_OK && (!call->reply_type || call->on_entry))
		return wire_decode(&scratch, payload, broker_ok_shape, &ok, sizeof(ok), err) < 0
		               ? -1
		               : 1;
	if (!call->reply_type || type != call->reply_type)
		return FAIL(err, ERROR_SYSTEM, "the broker answered with type %u", type);
	if (wire_decode(call->arena, payload, call->reply_shape, call->reply, call->reply_size,
	                err) < 0)
		return FAIL_CONTEXT(err, "broker");
	if (!call->on_entry)
		return 1;
	return call->on_entry(call->context, call->reply, err) < 0 ? -1 : 0;
}

/* As take_frame, for all received frames. */
static int take_frames(const struct broker_call *call, struct span frames, struct error *err)
{
	uint16_t type;
	struct span payload;

	while (frames.size > 0) {
		int whole = wire_next(&frames, &type, &payload, NULL, err);
		if (whole <= 0)
			return whole < 0 ? -1 : FAIL(err, ERROR_SYSTEM, "the broker cut a message");
		int over = take_frame(call, type, payload, err);
		if (over != 0)
			return over;
	}
	return 0;
}

static uint64_t request_of(struct span frame)
{
	uint64_t request = 0;

	if (frame.size < WIRE_HEAD_SIZE + sizeof(request))
		return 0;
	for (size_t i = 0; i < sizeof(request); i++)
		request |= (uint64_t)(unsigned char)frame.data[WIRE_HEAD_SIZE + i] << (8 * i);
	return request;
}

static int receive_packet(int fd, int64_t deadline, struct buf *packet, struct error *err)
{
	struct wire_fds none = {.count = 0};

	if (wire_receive_packet(fd, deadline, packet, &none, err) < 0)
		return -1;
	wire_fds_close(&none);
	return 0;
}

static int take_ended(struct broker_client *c, struct span payload, struct error *err)
{
	AUTO(arena_done) struct arena a = {0};
	struct broker_ended ended;

	if (wire_decode(&a, payload, broker_ended_shape, &ended, sizeof(ended), err) < 0)
		return -1;
	c->options.on_ended(c->options.context, &ended);
	return 0;
}

static int take_disk(struct broker_client *c, struct span payload, struct error *err)
{
	AUTO(arena_done) struct arena a = {0};
	struct broker_disk disk;

	if (wire_decode(&a, payload, broker_disk_shape, &disk, sizeof(disk), err) < 0)
		return -1;
	if (c->options.on_disk)
		c->options.on_disk(c->options.context, &disk);
	return 0;
}

/* Messages without a request. */
static void take_event(struct broker_client *c, struct span frame)
{
	struct span payload;
	struct error err = {0};
	uint16_t type;
	int status = wire_next(&frame, &type, &payload, NULL, &err);

	if (status == 1 && type == BROKER_DISK)
		status = take_disk(c, payload, &err);
	else if (status == 1)
		status = take_ended(c, payload, &err);
	if (status < 0)
		log_warning("broker sent a malformed event, ignoring", FAILURE(&err));
}

/* A call on the client's own thread, on a new connection that no other thread uses. */
static int exchange_message(struct broker_client *c, int fd, const struct broker_call *call,
                            struct error *err)
{
	AUTO(buf_done) struct buf packet = BUF(PACKET_MAX);
	int64_t deadline = deadline_after(HELLO_MS);
	int over = 0;

	if (wire_encode(&packet, call->type, call->shape, call->message, err) < 0 ||
	    wire_send_packet(fd, buf_span(&packet), NULL, deadline, err) < 0)
		return -1;
	while (over == 0) {
		if (receive_packet(fd, deadline, &packet, err) < 0)
			return -1;
		if (request_of(buf_span(&packet)) == 0)
			take_event(c, buf_span(&packet));
		else
			over = take_frames(call, buf_span(&packet), err);
	}
	return over < 0 ? -1 : 0;
}

static int say_hello(struct broker_client *c, int fd, struct error *err)
{
	AUTO(arena_done) struct arena a = {0};
	struct broker_hello hello = {.request = 1, .protocol = BROKER_PROTOCOL};
	struct broker_welcome welcome;
	bool is_first = !c->welcome.protocol;
	struct broker_call call = {
	        .type = BROKER_HELLO,
	        .shape = broker_hello_shape,
	        .message = &hello,
	        WIRE_REPLY(BROKER_WELCOME, broker_welcome_shape, welcome),
	        .arena = is_first ? &c->arena : &a,
	};

	if (exchange_message(c, fd, &call, err) < 0)
		return -1;
	if (welcome.protocol != BROKER_PROTOCOL)
		return FAIL(err, ERROR_UNAVAILABLE, "it speaks protocol %u, not %u",
		            welcome.protocol, BROKER_PROTOCOL);
	if (is_first)
		c->welcome = welcome;
	return 0;
}

static int connect_broker(struct broker_client *c, int *ret_fd, struct error *err)
{
	AUTO_CLOSE int path_fd = open(c->socket_path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	AUTO_CLOSE int fd = -1;

	if (path_fd < 0)
		return FAIL_ERRNO(err, "open '%s'", c->socket_path);
	if (unix_connect(path_fd, SOCK_SEQPACKET, deadline_after(HELLO_MS), &fd, err) < 0 ||
	    say_hello(c, fd, err) < 0)
		return -1;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static int note_running(void *context, const void *reply, struct error *err UNUSED)
{
	struct map *running = context;
	const struct broker_entry *entry = reply;

	if (entry->running)
		map_put(running, entry->sandbox, running);
	return 0;
}

static int report_running(struct broker_client *c, int fd, struct error *err)
{
	AUTO(arena_done) struct arena a = {0};
	AUTO(map_done) struct map running = {0};
	struct broker_id all = {.request = 1, .sandbox = ""};
	struct broker_entry entry;
	struct broker_call call = {
	        .type = BROKER_LIST,
	        .shape = broker_id_shape,
	        .message = &all,
	        WIRE_REPLY(BROKER_ENTRY, broker_entry_shape, entry),
	        .arena = &a,
	        .on_entry = note_running,
	        .context = &running,
	};

	if (exchange_message(c, fd, &call, err) < 0)
		return -1;
	c->options.on_running(c->options.context, &running);
	return 0;
}

static void deliver_reply(struct broker_client *c, struct span frame)
{
	uint64_t request = request_of(frame);

	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&c->mutex);

	LIST_EACH (&c->waiters, struct broker_waiter, w, item) {
		if (w->request != request)
			continue;
		buf_add_span(&w->replies, frame);
		pthread_cond_signal(&w->ready);
		break;
	}
}

/* Returns when the connection is broken. */
static void read_replies(struct broker_client *c, struct error *err)
{
	AUTO(buf_done) struct buf packet = BUF(PACKET_MAX);

	for (;;) {
		int ready = fd_wait(c->fd, POLLIN, deadline_after(TICK_MS), err);
		if (ready == 0)
			c->options.on_tick(c->options.context);
		if (ready == 0)
			continue;
		if (ready < 0 || receive_packet(c->fd, DEADLINE_NEVER, &packet, err) < 0)
			return;
		if (request_of(buf_span(&packet)) == 0)
			take_event(c, buf_span(&packet));
		else
			deliver_reply(c, buf_span(&packet));
	}
}

/* Tells all waiters and stops all sends on the old descriptor. False if the client is being
 * closed. */
static bool disconnect_broker(struct broker_client *c)
{
	pthread_mutex_lock(&c->mutex);
	c->connected = false;
	LIST_EACH (&c->waiters, struct broker_waiter, w, item) {
		w->broken = true;
		pthread_cond_signal(&w->ready);
	}
	bool go_on = !c->closing;
	pthread_mutex_unlock(&c->mutex);
	/* Ends a send that waits for room, so that its mutex is released. */
	(void)shutdown(c->fd, SHUT_RDWR);
	pthread_mutex_lock(&c->send_mutex);
	auto_close(&c->fd);
	c->fd = -1;
	pthread_mutex_unlock(&c->send_mutex);
	return go_on;
}

/* False when the client was closed meanwhile. */
static bool wait_unless_closing(struct broker_client *c, int64_t deadline)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&c->mutex);

	while (!c->closing && condition_wait(&c->changed, &c->mutex, deadline))
		;
	return !c->closing;
}

/* False when the client was closed meanwhile. */
static bool set_connected(struct broker_client *c, int fd)
{
	pthread_mutex_lock(&c->send_mutex);
	c->fd = fd;
	pthread_mutex_lock(&c->mutex);
	c->connected = !c->closing;
	bool connected = c->connected;
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->mutex);
	pthread_mutex_unlock(&c->send_mutex);
	return connected;
}

static bool reconnect_broker(struct broker_client *c)
{
	for (int64_t wait_ms = RETRY_MS; wait_unless_closing(c, deadline_after(wait_ms));
	     wait_ms *= 2) {
		AUTO_CLOSE int fd = -1;
		struct error err = {0};
		if (wait_ms > RETRY_MS_MAX / 2)
			wait_ms = RETRY_MS_MAX / 2;
		if (connect_broker(c, &fd, &err) == 0 && report_running(c, fd, &err) == 0) {
			log_info("broker connected again");
			return set_connected(c, TAKE_FD(fd));
		}
		log_debug("broker not there yet", FAILURE(&err));
	}
	return false;
}

static void *run_client_thread(void *argument)
{
	struct broker_client *c = argument;

	for (bool go_on = true; go_on;) {
		struct error err = {0};
		read_replies(c, &err);
		go_on = disconnect_broker(c);
		if (go_on) {
			log_warning("broker connection lost, connecting again", FAILURE(&err));
			go_on = reconnect_broker(c);
		}
	}
	return NULL;
}

static void waiter_free(struct broker_client *c, struct broker_waiter *w)
{
	broker_load_add(-1);
	pthread_mutex_lock(&c->mutex);
	list_remove(&w->item);
	pthread_mutex_unlock(&c->mutex);
	pthread_cond_destroy(&w->ready);
	buf_done(&w->replies);
	free(w);
}

/* NULL when no connection came up in time. */
static struct broker_waiter *waiter_new(struct broker_client *c, int64_t deadline)
{
	struct broker_waiter *w = memory_new(sizeof(*w));

	*w = (struct broker_waiter){.replies = BUF(REPLIES_MAX)};
	condition_init(&w->ready);
	list_init(&w->item);
	broker_load_add(1);
	pthread_mutex_lock(&c->mutex);
	while (!c->connected && !c->last_calls && !c->closing &&
	       condition_wait(&c->changed, &c->mutex, deadline))
		;
	bool connected = c->connected && !c->closing;
	if (connected) {
		w->request = ++c->request_last;
		list_append(&c->waiters, &w->item);
	}
	pthread_mutex_unlock(&c->mutex);
	if (connected)
		return w;
	waiter_free(c, w);
	return NULL;
}

static int send_call(struct broker_client *c, struct broker_waiter *w,
                     const struct broker_call *call, int64_t deadline, struct error *err)
{
	AUTO(buf_done) struct buf packet = BUF(PACKET_MAX);

	assert(call->shape && call->message && w->request > 0);
	*(uint64_t *)call->message = w->request;
	if (wire_encode(&packet, call->type, call->shape, call->message, err) < 0)
		return -1;
	if (!call->never_waits)
		pthread_mutex_lock(&c->send_mutex);
	else if (pthread_mutex_trylock(&c->send_mutex) != 0)
		return FAIL(err, ERROR_UNAVAILABLE, "the broker is being told something else");
	pthread_mutex_lock(&c->mutex);
	bool broken = w->broken;
	pthread_mutex_unlock(&c->mutex);
	int ret = broken ? FAIL(err, ERROR_UNAVAILABLE, "peer closed")
	                 : wire_send_packet(c->fd, buf_span(&packet), call->fds, deadline, err);
	pthread_mutex_unlock(&c->send_mutex);
	return ret < 0 ? FAIL_CONTEXT(err, "broker") : 0;
}

int broker_client_begin(struct broker_client *c, const struct broker_call *call, int64_t deadline,
                        struct broker_waiter **ret, struct error *err)
{
	struct broker_waiter *w;

	if (call->never_waits)
		deadline = deadline_after(0);
	w = waiter_new(c, earlier_time(deadline, deadline_after(RECONNECT_MS)));
	if (!w)
		return FAIL(err, ERROR_UNAVAILABLE, "the broker is not running");
	timed_begin(&w->timed, TRACE_BROKER, broker_type_name(call->type));
	if (send_call(c, w, call, deadline, err) < 0) {
		timed_end(&w->timed, err);
		waiter_free(c, w);
		return -1;
	}
	*ret = w;
	return 0;
}

/* Waits for more frames and moves them out. */
static int await_frames(struct broker_client *c, struct broker_waiter *w, int64_t deadline,
                        struct buf *frames, struct error *err)
{
	bool in_time = true;

	pthread_mutex_lock(&c->mutex);
	while (in_time && !w->replies.size && !w->replies.overflowed && !w->broken)
		in_time = condition_wait(&w->ready, &c->mutex, deadline);
	bool overflowed = w->replies.overflowed;
	*frames = w->replies;
	w->replies = BUF(REPLIES_MAX);
	pthread_mutex_unlock(&c->mutex);
	if (overflowed)
		return FAIL(err, ERROR_TOO_LARGE, "the broker's answer is too long");
	if (frames->size > 0)
		return 0;
	return in_time ? FAIL(err, ERROR_UNAVAILABLE, "the connection to the broker broke")
	               : FAIL(err, ERROR_TIMEOUT, "the broker did not answer in time");
}

int broker_client_end(struct broker_client *c, const struct broker_call *call,
                      struct broker_waiter *w, int64_t deadline, struct error *err)
{
	int over = 0;

	while (over == 0) {
		AUTO(buf_done) struct buf frames = {0};
		over = await_frames(c, w, deadline, &frames, err);
		if (over == 0)
			over = take_frames(call, buf_span(&frames), err);
	}
	timed_end(&w->timed, over < 0 ? err : NULL);
	waiter_free(c, w);
	return over < 0 ? -1 : 0;
}

int broker_client_call(struct broker_client *c, const struct broker_call *call, int64_t deadline,
                       struct error *err)
{
	struct broker_waiter *w = NULL;

	for (bool again = call->may_repeat;; again = false) {
		if (broker_client_begin(c, call, deadline, &w, err) < 0)
			return -1;
		if (broker_client_end(c, call, w, deadline, err) == 0)
			return 0;
		if (!again || err->code != ERROR_UNAVAILABLE)
			return -1;
		error_clear(err);
	}
}

static void client_free(struct broker_client *c)
{
	auto_close(&c->fd);
	pthread_cond_destroy(&c->changed);
	pthread_mutex_destroy(&c->mutex);
	pthread_mutex_destroy(&c->send_mutex);
	arena_done(&c->arena);
	free(c->socket_path);
	free(c);
}

int broker_client_open(const struct broker_client_options *options, struct broker_client **ret,
                       struct error *err)
{
	struct broker_client *c = memory_new(sizeof(*c));

	c->socket_path = memory_text(options->socket_path);
	c->options = *options;
	c->fd = -1;
	list_init(&c->waiters);
	pthread_mutex_init(&c->send_mutex, NULL);
	pthread_mutex_init(&c->mutex, NULL);
	condition_init(&c->changed);
	if (connect_broker(c, &c->fd, err) < 0) {
		client_free(c);
		return FAIL_CONTEXT(err, "broker");
	}
	c->connected = true;
	errno = pthread_create(&c->thread, NULL, run_client_thread, c);
	if (errno) {
		(void)FAIL_ERRNO(err, "start a thread");
		client_free(c);
		return -1;
	}
	*ret = c;
	return 0;
}

void broker_client_last_calls(struct broker_client *c)
{
	pthread_mutex_lock(&c->mutex);
	c->last_calls = true;
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->mutex);
}

void broker_client_close(struct broker_client *c)
{
	if (!c)
		return;
	pthread_mutex_lock(&c->send_mutex);
	pthread_mutex_lock(&c->mutex);
	c->closing = true;
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->mutex);
	if (c->fd >= 0)
		(void)shutdown(c->fd, SHUT_RDWR);
	pthread_mutex_unlock(&c->send_mutex);
	pthread_join(c->thread, NULL);
	client_free(c);
}

struct broker_welcome broker_client_welcome(const struct broker_client *c)
{
	return c->welcome;
}
