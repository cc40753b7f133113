/* SPDX-License-Identifier: Apache-2.0 */
#include "http/client/async.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/thread.h"
#include "http/client/curl.h"
#include "loop/loop.h"
#include "trace/trace.h"

#define ANSWER_MAX ((size_t)4 << 20)
#define RETRY_AFTER_MAX_S 3600
#define CANCEL_LOOK_MS 100

struct http_async {
	struct loop *loop;
	pthread_t thread;
	CURLM *multi;
	struct loop_timer timer; /* of libcurl */
	struct list transfers;   /* struct async_transfer */
	struct loop_task stop;
	struct arena arena;
	struct http_async_tls tls;
};

/* A call, or the connecting of a stream. */
struct async_transfer {
	struct list item;
	struct http_async *async;
	struct loop_task task;
	struct arena arena;
	struct http_async_call call;
	http_async_on_done *on_done; /* NULL: of a stream */
	void *context;
	struct http_stream *stream;
	CURL *curl;
	struct curl_slist *headers;
	struct http_async_answer answer;
	char detail[CURL_ERROR_SIZE];
	char trace[TRACE_LINE_SIZE]; /* of the thread that made the call; "" = none */
};

struct http_stream {
	struct http_async *async;
	struct http_stream_options options;
	struct async_transfer *transfer; /* owns the handle */
	curl_socket_t fd;
	struct loop_watch *watch; /* NULL: nothing is wanted */
	bool is_connected;
};

static struct http_async *async_of_task(struct loop_task *task)
{
	return CONTAINER_OF(task, struct http_async, stop);
}

static void free_transfer(struct async_transfer *t)
{
	list_remove(&t->item);
	if (t->curl) {
		(void)curl_multi_remove_handle(t->async->multi, t->curl);
		curl_easy_cleanup(t->curl);
	}
	curl_slist_free_all(t->headers);
	buf_done(&t->answer.body);
	arena_done(&t->arena);
	free(t);
}

static void fill_failure(struct async_transfer *t, CURLcode code, struct error *err)
{
	const struct http_client_options options = {.base_url = t->call.url};
	AUTO(buf_done) struct buf what = BUF(ERROR_TEXT_MAX);

	buf_addf(&what, "%s %.200s", t->call.method ? t->call.method : "connect", t->call.url);
	if (t->answer.body.overflowed)
		(void)FAIL(err, ERROR_TOO_LARGE, "%s: the answer is too large", buf_text(&what));
	else if (client_has_no_connection(t->curl, code))
		(void)!client_fail_connect(t->curl, code, &options, t->detail, err);
	else
		(void)!client_fail(code, buf_text(&what), t->detail, err);
}

static void end_call(struct async_transfer *t, CURLcode code)
{
	struct error err = {0};
	long status = 0;

	if (code != CURLE_OK) {
		fill_failure(t, code, &err);
		t->on_done(t->context, NULL, &err);
	} else {
		(void)curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &status);
		t->answer.status = (int)status;
		t->on_done(t->context, &t->answer, NULL);
	}
	free_transfer(t);
}

static void on_stream_ready(void *context, UNUSED uint32_t events)
{
	struct http_stream *s = context;

	s->options.on_ready(s->options.context);
}

static void end_connecting(struct async_transfer *t, CURLcode code)
{
	struct http_stream *s = t->stream;
	curl_socket_t fd = CURL_SOCKET_BAD;
	struct error err = {0};

	if (code == CURLE_OK)
		code = curl_easy_getinfo(t->curl, CURLINFO_ACTIVESOCKET, &fd);
	if (code == CURLE_OK && fd == CURL_SOCKET_BAD)
		code = CURLE_COULDNT_CONNECT;
	s->fd = fd;
	s->is_connected = code == CURLE_OK;
	if (!s->is_connected)
		fill_failure(t, code, &err);
	s->options.on_connected(s->options.context, s->is_connected ? NULL : &err);
}

static void end_transfers(struct http_async *a)
{
	CURLMsg *message;
	int left;

	while ((message = curl_multi_info_read(a->multi, &left))) {
		struct async_transfer *t = NULL;
		CURLcode code = message->data.result;

		if (message->msg != CURLMSG_DONE)
			continue;
		(void)curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&t);
		if (t->on_done)
			end_call(t, code);
		else
			end_connecting(t, code);
	}
}

static void on_curl_timer(void *context)
{
	struct http_async *a = context;
	int running;

	(void)curl_multi_socket_action(a->multi, CURL_SOCKET_TIMEOUT, 0, &running);
	end_transfers(a);
}

static int on_timer_wanted(UNUSED CURLM *multi, long wait_ms, void *user)
{
	struct http_async *a = user;

	if (wait_ms < 0)
		loop_timer_stop(a->loop, &a->timer);
	else
		loop_timer_start(a->loop, &a->timer, wait_ms);
	return 0;
}

/* A socket that libcurl waits for. */
struct async_socket {
	struct http_async *async;
	struct loop_watch *watch;
	curl_socket_t fd;
};

static void on_socket_ready(void *context, uint32_t events)
{
	struct async_socket *s = context;
	struct http_async *a = s->async;
	int mask = (events & EPOLLIN ? CURL_CSELECT_IN : 0) |
	           (events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
	           (events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);
	int running;

	(void)curl_multi_socket_action(a->multi, s->fd, mask, &running);
	end_transfers(a);
}

static int on_socket_wanted(UNUSED CURL *curl, curl_socket_t fd, int what, void *user,
                            void *socket_user)
{
	struct http_async *a = user;
	struct async_socket *s = socket_user;
	uint32_t events =
	        (what & CURL_POLL_IN ? EPOLLIN : 0) | (what & CURL_POLL_OUT ? EPOLLOUT : 0);
	struct error ignored;

	if (what == CURL_POLL_REMOVE) {
		if (s)
			loop_watch_free(s->watch);
		free(s);
		(void)curl_multi_assign(a->multi, fd, NULL);
		return 0;
	}
	if (s) {
		loop_watch_set(s->watch, events);
		return 0;
	}
	s = memory_new(sizeof(*s));
	*s = (struct async_socket){.async = a, .fd = fd};
	const struct loop_watch_options watch = {
	        .fd = fd, .epoll_events = events, .on_ready = on_socket_ready, .context = s};
	if (loop_watch_add(a->loop, &watch, &s->watch, &ignored) < 0) {
		free(s);
		return -1;
	}
	(void)curl_multi_assign(a->multi, fd, s);
	return 0;
}

static size_t on_answer_bytes(char *data, UNUSED size_t one, size_t size, void *user)
{
	struct async_transfer *t = user;
	long status = 0;

	if (t->call.on_piece) {
		(void)curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &status);
		if (status == 200)
			return t->call.on_piece(t->context, (struct span){data, size})
			               ? size
			               : CURL_WRITEFUNC_ERROR;
	}
	buf_add(&t->answer.body, data, size);
	return t->answer.body.overflowed ? CURL_WRITEFUNC_ERROR : size;
}

static size_t on_answer_header(char *data, UNUSED size_t one, size_t size, void *user)
{
	struct async_transfer *t = user;
	struct span line = {data, size}, name;
	struct error ignored;

	while (line.size > 0 &&
	       (line.data[line.size - 1] == '\r' || line.data[line.size - 1] == '\n'))
		line.size--;
	if (!span_split(&line, ':', &name))
		return size;
	line = span_trim(line);
	if (span_is_word(name, "Retry-After"))
		(void)!span_parse_whole(line, 0, RETRY_AFTER_MAX_S, &t->answer.retry_after_s,
		                        &ignored);
	if (t->call.wanted && span_is_word(name, t->call.wanted) &&
	    line.size < sizeof(t->answer.wanted))
		(void)snprintf(t->answer.wanted, sizeof(t->answer.wanted), "%.*s", (int)line.size,
		               line.data);
	return size;
}

static void add_header_line(struct async_transfer *t, const char *line)
{
	struct curl_slist *longer = curl_slist_append(t->headers, line);

	if (!longer)
		abort();
	t->headers = longer;
}

static void set_call(struct async_transfer *t)
{
	const struct http_async_call *call = &t->call;

	for (const char *const *line = call->headers; line && *line; line++)
		add_header_line(t, *line);
	if (t->trace[0])
		add_header_line(t, t->trace);
	add_header_line(t, "Expect:");
	curl_easy_setopt(t->curl, CURLOPT_HTTPHEADER, t->headers);
	curl_easy_setopt(t->curl, CURLOPT_USERAGENT, "atoll");
	curl_easy_setopt(t->curl, CURLOPT_WRITEFUNCTION, on_answer_bytes);
	curl_easy_setopt(t->curl, CURLOPT_WRITEDATA, t);
	curl_easy_setopt(t->curl, CURLOPT_HEADERFUNCTION, on_answer_header);
	curl_easy_setopt(t->curl, CURLOPT_HEADERDATA, t);
	curl_easy_setopt(t->curl, CURLOPT_TIMEOUT_MS, (long)call->timeout_ms);
	if (call->is_once)
		curl_easy_setopt(t->curl, CURLOPT_FRESH_CONNECT, 1L);
	if (call->has_body) {
		curl_easy_setopt(t->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->body.size);
		curl_easy_setopt(t->curl, CURLOPT_POSTFIELDS,
		                 call->body.size > 0 ? call->body.data : "");
	}
	/* After the body, which would choose POST by itself. */
	curl_easy_setopt(t->curl, CURLOPT_CUSTOMREQUEST, call->method);
}

static void set_blob(CURL *curl, CURLoption option, const char *text)
{
	struct curl_blob blob = {(void *)(uintptr_t)text, text ? strlen(text) : 0,
	                         CURL_BLOB_NOCOPY};

	if (text)
		curl_easy_setopt(curl, option, &blob);
}

/* The texts live as long as all transfers. */
static void set_tls(CURL *curl, const struct http_async_tls *tls)
{
	set_blob(curl, CURLOPT_CAINFO_BLOB, tls->authorities);
	set_blob(curl, CURLOPT_SSLCERT_BLOB, tls->certificate);
	set_blob(curl, CURLOPT_SSLKEY_BLOB, tls->key);
}

/* On the loop's thread. */
static void begin_transfer(struct loop_task *task)
{
	struct async_transfer *t = CONTAINER_OF(task, struct async_transfer, task);
	const struct http_client_options options = {.base_url = t->call.url};

	t->curl = client_curl_new();
	list_append(&t->async->transfers, &t->item);
	client_set_target(t->curl, &options, "");
	set_tls(t->curl, &t->async->tls);
	curl_easy_setopt(t->curl, CURLOPT_ERRORBUFFER, t->detail);
	curl_easy_setopt(t->curl, CURLOPT_PRIVATE, t);
	curl_easy_setopt(t->curl, CURLOPT_TCP_KEEPALIVE, 1L);
	if (t->on_done) {
		set_call(t);
	} else {
		curl_easy_setopt(t->curl, CURLOPT_CONNECT_ONLY, 1L);
		curl_easy_setopt(t->curl, CURLOPT_CONNECTTIMEOUT_MS, (long)t->call.timeout_ms);
	}
	(void)curl_multi_add_handle(t->async->multi, t->curl);
}

static struct async_transfer *new_transfer(struct http_async *a, const char *url)
{
	struct async_transfer *t = memory_new(sizeof(*t));

	t->async = a;
	list_init(&t->item);
	t->task.run = begin_transfer;
	t->call.url = arena_text(&t->arena, url);
	return t;
}

static const char *const *copy_lines(struct arena *a, const char *const *lines)
{
	size_t count = 0;
	const char **copy;

	while (lines && lines[count])
		count++;
	copy = ARENA_ARRAY(a, const char *, count + 1);
	for (size_t i = 0; i < count; i++)
		copy[i] = arena_text(a, lines[i]);
	copy[count] = NULL;
	return copy;
}

static struct async_transfer *copy_call(struct http_async *a, const struct http_async_call *call)
{
	struct async_transfer *t = new_transfer(a, call->url);
	const char *url = t->call.url;

	t->call = *call;
	t->call.url = url;
	t->call.method = arena_text(&t->arena, call->method);
	t->call.headers = copy_lines(&t->arena, call->headers);
	t->call.body = (struct span){arena_copy(&t->arena, call->body), call->body.size};
	t->call.wanted = call->wanted ? arena_text(&t->arena, call->wanted) : NULL;
	if (!trace_format_line(t->trace))
		t->trace[0] = '\0';
	t->answer.body = BUF(call->answer_max ? call->answer_max : ANSWER_MAX);
	return t;
}

void http_async_call(struct http_async *a, const struct http_async_call *call,
                     http_async_on_done *on_done, void *context)
{
	struct async_transfer *t = copy_call(a, call);

	t->on_done = on_done;
	t->context = context;
	loop_post(a->loop, &t->task);
}

/* A worker that waits. */
struct async_waiter {
	pthread_mutex_t mutex; /* guards all below */
	pthread_cond_t changed;
	bool is_done, has_failed;
	bool was_looked_at, is_aborted; /* abort_call has run, and has ended the call */
	struct http_async_answer *answer;
	struct error *err;
	struct async_transfer *transfer; /* of the loop's thread */
	struct loop_task abort;
};

static void on_waited(void *context, struct http_async_answer *answer, const struct error *err)
{
	struct async_waiter *w = context;
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&w->mutex);

	w->is_done = true;
	w->has_failed = err != NULL;
	if (err) {
		*w->err = *err;
	} else {
		*w->answer = *answer;
		answer->body = BUF(0);
	}
	pthread_cond_signal(&w->changed);
}

/* Runs after the begin of the call, which was posted before. */
static void abort_call(struct loop_task *task)
{
	struct async_waiter *w = CONTAINER_OF(task, struct async_waiter, abort);
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&w->mutex);

	if (!w->is_done) {
		free_transfer(w->transfer);
		w->is_aborted = true;
	}
	w->was_looked_at = true;
	pthread_cond_signal(&w->changed);
}

static bool wait_for_call(struct async_waiter *w, int64_t deadline, const struct cancel *cancel)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&w->mutex);

	while (!w->is_done && deadline_poll_ms(deadline) != 0 && !cancel_is_said(cancel)) {
		int64_t look_at = cancel ? deadline_after(CANCEL_LOOK_MS) : deadline;

		thread_wait(&w->changed, &w->mutex, look_at < deadline ? look_at : deadline);
	}
	return w->is_done;
}

static void abort_and_wait(struct http_async *a, struct async_waiter *w)
{
	loop_post(a->loop, &w->abort);
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&w->mutex);
	while (!w->was_looked_at)
		thread_wait(&w->changed, &w->mutex, DEADLINE_NEVER);
}

int http_async_wait(struct http_async *a, const struct http_async_call *call, int64_t deadline,
                    struct http_async_answer *ret, struct error *err)
{
	struct async_waiter w = {.answer = ret, .err = err, .abort.run = abort_call};
	const struct cancel *cancel = cancel_current();

	pthread_mutex_init(&w.mutex, NULL);
	thread_condition_init(&w.changed);
	w.transfer = copy_call(a, call);
	w.transfer->on_done = on_waited;
	w.transfer->context = &w;
	loop_post(a->loop, &w.transfer->task);
	if (!wait_for_call(&w, deadline, cancel))
		abort_and_wait(a, &w);
	pthread_cond_destroy(&w.changed);
	pthread_mutex_destroy(&w.mutex);
	if (!w.is_aborted)
		return w.has_failed ? -1 : 0;
	return cancel_is_said(cancel) ? FAIL(err, ERROR_UNAVAILABLE, "the call was cancelled")
	                              : FAIL(err, ERROR_TIMEOUT, "%s %.200s: no answer in time",
	                                     call->method, call->url);
}

struct http_stream *http_stream_open(struct http_async *a,
                                     const struct http_stream_options *options)
{
	struct http_stream *s = memory_new(sizeof(*s));

	s->async = a;
	s->options = *options;
	s->transfer = new_transfer(a, options->url);
	s->transfer->call.timeout_ms = options->timeout_ms;
	s->transfer->stream = s;
	begin_transfer(&s->transfer->task);
	return s;
}

void http_stream_free(struct http_stream *s)
{
	if (!s)
		return;
	loop_watch_free(s->watch);
	free_transfer(s->transfer);
	free(s);
}

static int watch_stream(struct http_stream *s, uint32_t events, struct error *err)
{
	const struct loop_watch_options watch = {
	        .fd = s->fd, .epoll_events = events, .on_ready = on_stream_ready, .context = s};

	return loop_watch_add(s->async->loop, &watch, &s->watch, err);
}

/* A hangup would be reported all the time to a watch that wants nothing. */
void http_stream_watch(struct http_stream *s, bool reads, bool writes)
{
	uint32_t events = (reads ? EPOLLIN : 0) | (writes ? EPOLLOUT : 0);
	struct error ignored;

	if (events == 0) {
		loop_watch_free(s->watch);
		s->watch = NULL;
	} else if (s->watch) {
		loop_watch_set(s->watch, events);
	} else {
		(void)!watch_stream(s, events, &ignored);
	}
}

ptrdiff_t http_stream_receive(struct http_stream *s, char *room, size_t size)
{
	size_t got = 0;
	CURLcode code = curl_easy_recv(s->transfer->curl, room, size, &got);

	if (code == CURLE_AGAIN)
		return 0;
	return code == CURLE_OK && got > 0 ? (ptrdiff_t)got : -1;
}

ptrdiff_t http_stream_send(struct http_stream *s, struct span bytes)
{
	size_t sent = 0;
	CURLcode code = curl_easy_send(s->transfer->curl, bytes.data, bytes.size, &sent);

	if (code == CURLE_AGAIN)
		return 0;
	return code == CURLE_OK ? (ptrdiff_t)sent : -1;
}

struct loop *http_async_loop(struct http_async *a)
{
	return a->loop;
}

void http_async_set_tls(struct http_async *a, const struct http_async_tls *tls)
{
	const char *const from[] = {tls->authorities, tls->certificate, tls->key};
	const char **to[] = {&a->tls.authorities, &a->tls.certificate, &a->tls.key};

	for (size_t i = 0; i < COUNT_OF(from); i++)
		*to[i] = from[i] ? arena_text(&a->arena, from[i]) : NULL;
}

static void *run_async(void *argument)
{
	struct http_async *a = argument;

	loop_run(a->loop);
	return NULL;
}

int http_async_open(const char *name, struct http_async **ret, struct error *err)
{
	struct http_async *a = memory_new(sizeof(*a));

	list_init(&a->transfers);
	curl_easy_cleanup(client_curl_new()); /* starts the library */
	a->multi = curl_multi_init();
	if (!a->multi)
		abort();
	a->timer = (struct loop_timer){.on_timer = on_curl_timer, .context = a};
	curl_multi_setopt(a->multi, CURLMOPT_SOCKETFUNCTION, on_socket_wanted);
	curl_multi_setopt(a->multi, CURLMOPT_SOCKETDATA, a);
	curl_multi_setopt(a->multi, CURLMOPT_TIMERFUNCTION, on_timer_wanted);
	curl_multi_setopt(a->multi, CURLMOPT_TIMERDATA, a);
	if (loop_open(&a->loop, err) < 0) {
		(void)curl_multi_cleanup(a->multi);
		free(a);
		return -1;
	}
	errno = thread_start(&a->thread, NULL, run_async, a);
	if (errno) {
		(void)FAIL_ERRNO(err, "start a thread for %s", name);
		loop_close(a->loop);
		(void)curl_multi_cleanup(a->multi);
		free(a);
		return -1;
	}
	*ret = a;
	return 0;
}

static void stop_async(struct loop_task *task)
{
	struct http_async *a = async_of_task(task);
	struct error err = {0};

	(void)FAIL(&err, ERROR_UNAVAILABLE, "the server ends");
	LIST_EACH (&a->transfers, struct async_transfer, t, item) {
		if (!t->on_done)
			continue;
		t->on_done(t->context, NULL, &err);
		free_transfer(t);
	}
	loop_stop(a->loop);
}

void http_async_close(struct http_async *a)
{
	if (!a)
		return;
	a->stop.run = stop_async;
	loop_post(a->loop, &a->stop);
	pthread_join(a->thread, NULL);
	(void)curl_multi_cleanup(a->multi);
	loop_close(a->loop);
	if (a->tls.key)
		explicit_bzero((void *)(uintptr_t)a->tls.key, strlen(a->tls.key));
	arena_done(&a->arena);
	free(a);
}
