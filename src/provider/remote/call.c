/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/thread.h"
#include "http/client/async.h"
#include "json/json.h"
#include "provider/remote/parts.h"

#define TRIES_MAX 4
#define PAUSE_MAX_MS 5000 /* a longer one fails the call, so that another provider is tried */
#define PAUSE_DEFAULT_S 1 /* after a 429 without Retry-After */
#define SLOW_MS 5000      /* a call that is in flight for longer: the service hangs */
#define SLOW_CALLS_MAX 3  /* calls that may wait for a service that hangs */
#define MESSAGE_MAX 300
#define HEADER_LINE_MAX 1024
#define CREDENTIAL_MAX 4096

struct call_in_flight {
	struct list item;
	int64_t began_ms;
};

void remote_calls_init(struct remote *r)
{
	list_init(&r->calls);
}

/* Few workers wait for a service that hangs: the others serve other providers. */
static int enter_call(struct remote *r, struct call_in_flight *call, struct error *err)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&r->mutex);
	int64_t now = clock_monotonic_ms();
	size_t slow = 0;

	LIST_EACH (&r->calls, struct call_in_flight, c, item)
		slow += now - c->began_ms > SLOW_MS;
	if (slow > 0 && list_count(&r->calls) >= SLOW_CALLS_MAX) {
		err->retry_after_s = 1;
		return FAIL(err, ERROR_UNAVAILABLE, "%s at %s hangs: %u calls wait for it",
		            r->kind->title, r->api_url, list_count(&r->calls));
	}
	*call = (struct call_in_flight){.began_ms = now};
	list_init(&call->item);
	list_append(&r->calls, &call->item);
	return 0;
}

static void leave_call(struct remote *r, struct call_in_flight *call)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&r->mutex);

	list_remove(&call->item);
}

/* Waits for the end of the pause that the service has asked for. */
static int await_limit(struct remote *r, int64_t deadline, struct error *err)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&r->mutex);

	for (;;) {
		int64_t left_ms = r->limited_until - clock_monotonic_ms();

		if (left_ms <= 0)
			return 0;
		if (left_ms > PAUSE_MAX_MS || r->limited_until > deadline || r->is_closing) {
			err->retry_after_s = (int)((left_ms + 999) / 1000);
			(void)FAIL(err, ERROR_UNAVAILABLE,
			           "%s allows no more calls of provider '%s' for %lld ms",
			           r->kind->title, r->name, (long long)left_ms);
			err->retry_after_s = (int)((left_ms + 999) / 1000);
			return -1;
		}
		thread_wait(&r->wake, &r->mutex, r->limited_until);
	}
}

static void note_limit(struct remote *r, int64_t retry_after_s)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&r->mutex);
	int64_t until = deadline_after((retry_after_s > 0 ? retry_after_s : PAUSE_DEFAULT_S) *
	                               INT64_C(1000));

	r->limited_until = until > r->limited_until ? until : r->limited_until;
}

/* {"message": "…"} of a failure; control characters would break a log line. */
static void read_message(struct span body, char out[MESSAGE_MAX])
{
	AUTO(arena_done) struct arena arena = {0};
	const struct json_value *root = NULL;
	struct error ignored = {0};
	const char *text = "it did not say why";

	if (json_load(&arena, body, &root, &ignored) == 0)
		text = json_get_text(root, "message", text);
	(void)snprintf(out, MESSAGE_MAX, "%s", text);
	for (char *at = out; *at; at++)
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			*at = ' ';
}

/* A credential that is refused is not the caller's: creates go to another provider. */
static enum error_code code_of(int status)
{
	static const struct {
		int status;
		enum error_code code;
	} codes[] = {
	        {400, ERROR_INVALID},     {401, ERROR_UNAVAILABLE}, {402, ERROR_UNAVAILABLE},
	        {403, ERROR_UNAVAILABLE}, {404, ERROR_NOT_FOUND},   {409, ERROR_CONFLICT},
	        {413, ERROR_TOO_LARGE},   {422, ERROR_INVALID},     {429, ERROR_UNAVAILABLE},
	        {507, ERROR_NO_SPACE},
	};

	for (size_t i = 0; i < COUNT_OF(codes); i++)
		if (codes[i].status == status)
			return codes[i].code;
	return status >= 500 ? ERROR_UNAVAILABLE : ERROR_SYSTEM;
}

int remote_fail_status(struct remote *r, int status, struct span body, int64_t retry_after_s,
                       struct error *err)
{
	char message[MESSAGE_MAX];

	read_message(body, message);
	(void)FAIL(err, code_of(status), "%s answers %d: %s", r->kind->title, status, message);
	err->retry_after_s = (int)retry_after_s;
	return -1;
}

/* Of the API itself, not of a sandbox. */
static void hint_credential(struct remote *r, int status, struct error *err)
{
	if (status == 401 || status == 403)
		error_hint(err, "give provider '%s' a valid %s", r->name, r->kind->key_option);
}

/* The credential of the moment; it may be replaced meanwhile. */
static const char *copy_credential(struct remote *r, struct arena *a)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&r->mutex);

	return arena_text(a, r->credential);
}

const char *remote_credential_line(struct remote *r, struct arena *a)
{
	const char *credential = copy_credential(r, a);

	return *credential ? arena_format(a, "%s%s", r->kind->key_header, credential) : NULL;
}

/* True: the file of the credential holds another one than was refused. */
static bool reload_credential(struct remote *r, const char *refused)
{
	AUTO(buf_done) struct buf text = BUF(CREDENTIAL_MAX);
	struct error ignored = {0};

	if (!r->key_file || file_read(AT_FDCWD, r->key_file, &text, &ignored) < 0)
		return false;
	while (text.size > 0 && strchr("\r\n \t", text.data[text.size - 1]))
		text.data[--text.size] = '\0';
	if (text.size == 0 || strcmp(text.data, refused) == 0)
		return false;
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&r->mutex);
	free(r->credential);
	r->credential = memory_text(text.data);
	log_info("a provider takes the new credential of its file", TEXT("provider", r->name));
	return true;
}

static bool is_accepted(const struct remote_call *call, int status)
{
	for (const int *at = call->accepted; at && *at; at++)
		if (*at == status)
			return true;
	return status >= 200 && status < 300;
}

static const char **join_headers(struct remote *r, struct arena *a, const struct remote_call *call,
                                 const char *credential)
{
	const char **lines = ARENA_ARRAY(a, const char *, REMOTE_HEADERS_MAX + 4);
	size_t count = 0;

	if ((!call->url || call->has_key) && *credential)
		lines[count++] = arena_format(a, "%s%s", r->kind->key_header, credential);
	if (call->body.size > 0)
		lines[count++] =
		        arena_format(a, "Content-Type: %s",
		                     call->content_type ? call->content_type : "application/json");
	lines[count++] = "Accept: application/json";
	for (size_t i = 0; i < REMOTE_HEADERS_MAX && call->headers[i]; i++)
		lines[count++] = call->headers[i];
	lines[count] = NULL;
	return lines;
}

static int call_once(struct remote *r, const struct remote_call *call, const char *credential,
                     struct http_async_answer *ret, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct call_in_flight in_flight;
	int left_ms = deadline_poll_ms(call->deadline);

	if (left_ms == 0)
		return FAIL(err, ERROR_TIMEOUT, "%s: no time is left for %s", r->kind->title,
		            call->path);
	const struct http_async_call http = {
	        .method = call->method,
	        .url = arena_format(&arena, "%s%s", call->url ? call->url : r->api_url, call->path),
	        .headers = join_headers(r, &arena, call, credential),
	        .body = call->body,
	        .has_body = strcmp(call->method, "GET") != 0 &&
	                    (call->body.size > 0 || strcmp(call->method, "DELETE") != 0),
	        .timeout_ms = left_ms < 0 ? 0 : left_ms,
	        .is_once = call->is_once,
	        .wanted = call->wanted,
	        .answer_max = call->answer_max,
	};
	if (enter_call(r, &in_flight, err) < 0)
		return -1;
	int status = http_async_wait(r->http, &http, call->deadline, ret, err);
	leave_call(r, &in_flight);
	return status < 0 ? FAIL_CONTEXT(err, "%s", r->kind->title) : 0;
}

/* 1: try again. */
static int judge_answer(struct remote *r, const struct remote_call *call, const char *credential,
                        struct http_async_answer *answer, struct error *err)
{
	if (is_accepted(call, answer->status))
		return 0;
	bool again = false;
	if (answer->status == 429) {
		note_limit(r, answer->retry_after_s);
		again = true;
	} else if (answer->status == 401 && !call->url) {
		again = reload_credential(r, credential);
	}
	(void)remote_fail_status(r, answer->status, buf_span(&answer->body), answer->retry_after_s,
	                         err);
	if (!call->url)
		hint_credential(r, answer->status, err);
	buf_done(&answer->body);
	return again ? 1 : -1;
}

int remote_call(struct remote *r, const struct remote_call *call, struct http_async_answer *ret,
                struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};

	for (unsigned tries = 1;; tries++) {
		const char *credential = copy_credential(r, &arena);

		if (await_limit(r, call->deadline, err) < 0 ||
		    call_once(r, call, credential, ret, err) < 0)
			return -1;
		int judged = judge_answer(r, call, credential, ret, err);
		if (judged <= 0 || tries == TRIES_MAX)
			return judged == 0 ? 0 : -1;
		error_clear(err);
	}
}

int remote_call_do(struct remote *r, const struct remote_call *call, struct error *err)
{
	struct http_async_answer answer;

	if (remote_call(r, call, &answer, err) < 0)
		return -1;
	buf_done(&answer.body);
	return answer.status;
}

int remote_call_load(struct remote *r, const struct remote_call *call, struct arena *a,
                     const struct json_value **ret, struct error *err)
{
	struct http_async_answer answer;

	if (remote_call(r, call, &answer, err) < 0)
		return -1;
	int status = json_load(a, buf_span(&answer.body), ret, err);
	buf_done(&answer.body);
	if (status == 0)
		return 0;
	/* Half an answer, or one of something between here and the service. */
	err->code = ERROR_UNAVAILABLE;
	return FAIL_CONTEXT(err, "%s: answer to %s %s", r->kind->title, call->method, call->path);
}
