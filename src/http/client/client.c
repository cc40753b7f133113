/* SPDX-License-Identifier: Apache-2.0 */
#include "http/client/client.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/bytes.h"
#include "http/client/curl.h"
#include "trace/trace.h"

#define BODY_MAX ((size_t)64 << 20)
/* libcurl's own are 16 and 64 KiB, which halves the speed of a file on the loopback. */
#define RECEIVE_SIZE 524288L
#define SEND_SIZE 524288L
/* How long to wait for "100 Continue" before a large body is sent anyway. */
#define EXPECT_MS 250L

struct http_client {
	CURL *curl;
	struct arena arena;
	struct http_client_options options; /* in the arena */
};

/* A running call, as libcurl's callbacks see it. */
struct http_transfer {
	const struct http_call *call;
	CURL *curl;
	struct curl_slist *headers;
	struct http_answer answer;
	struct error failure; /* of body_fd */
	off_t body_start;     /* -1: body_fd cannot be read again */
	bool cut;             /* on_body stopped the transfer */
	char detail[CURL_ERROR_SIZE];
};

int http_client_open(const struct http_client_options *options, struct http_client **ret,
                     struct error *err)
{
	struct http_client *client;

	if (client_check_options(options, err) < 0)
		return -1;
	client = memory_new(sizeof(*client));
	client->curl = client_curl_new();
	client->options = client_copy_options(&client->arena, options);
	*ret = client;
	return 0;
}

void http_client_close(struct http_client *client)
{
	if (!client)
		return;
	curl_easy_cleanup(client->curl);
	arena_done(&client->arena);
	free(client);
}

static int status_of(CURL *curl)
{
	long status = 0;

	curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
	return (int)status;
}

static size_t on_answer_bytes(char *data, UNUSED size_t one, size_t size, void *user)
{
	struct http_transfer *t = user;
	int status = status_of(t->curl);

	if (t->call->on_body && status >= 200 && status < 300) {
		t->cut = !t->call->on_body(t->call->context, (struct span){data, size});
		return t->cut ? CURL_WRITEFUNC_ERROR : size;
	}
	buf_add(&t->answer.body, data, size);
	return t->answer.body.overflowed ? CURL_WRITEFUNC_ERROR : size;
}

static size_t on_body_wanted(char *room, UNUSED size_t one, size_t size, void *user)
{
	struct http_transfer *t = user;
	ssize_t count;

	do {
		count = read(t->call->body_fd, room, size);
	} while (count < 0 && errno == EINTR);
	if (count >= 0)
		return (size_t)count;
	(void)FAIL_ERRNO(&t->failure, "read the body");
	return CURL_READFUNC_ABORT;
}

/* libcurl repeats the call on a new connection when a kept connection turns out to be closed, if
 * the body can be read again. */
static int on_body_again(void *user, curl_off_t offset, int origin)
{
	struct http_transfer *t = user;

	if (origin != SEEK_SET || t->body_start < 0 ||
	    lseek(t->call->body_fd, t->body_start + offset, SEEK_SET) < 0)
		return CURL_SEEKFUNC_CANTSEEK;
	return CURL_SEEKFUNC_OK;
}

static int on_curl_progress(void *user, UNUSED curl_off_t receive_all, curl_off_t received,
                            UNUSED curl_off_t send_all, curl_off_t sent)
{
	struct http_transfer *t = user;

	t->call->on_progress(t->call->context, sent, received);
	return 0;
}

static void add_line(struct http_transfer *t, const char *line)
{
	struct curl_slist *longer = curl_slist_append(t->headers, line);

	if (!longer)
		abort();
	t->headers = longer;
}

static void add_header(struct http_transfer *t, const char *name, const char *value)
{
	AUTO(buf_done) struct buf line = BUF(1 << 16);

	buf_addf(&line, "%s: %s", name, value);
	add_line(t, buf_text(&line));
}

static void set_headers(struct http_client *client, struct http_transfer *t)
{
	const struct http_call *call = t->call;
	char trace[TRACE_LINE_SIZE];

	if (trace_format_line(trace))
		add_line(t, trace);
	if (call->has_body_fd || call->body.size > 0)
		add_header(t, "Content-Type",
		           call->content_type ? call->content_type : "application/json");
	if (call->accept)
		add_header(t, "Accept", call->accept);
	if (call->project)
		add_header(t, "X-Atoll-Project", call->project);
	for (const char *const *line = call->headers; line && *line; line++)
		add_line(t, *line);
	if (client->options.authorization)
		add_header(t, "Authorization", client->options.authorization);
	else if (client->options.bearer) {
		AUTO(buf_done) struct buf value = BUF(1 << 16);

		buf_addf(&value, "Bearer %s", client->options.bearer);
		add_header(t, "Authorization", buf_text(&value));
	}
	curl_easy_setopt(t->curl, CURLOPT_HTTPHEADER, t->headers);
	curl_easy_setopt(t->curl, CURLOPT_USERAGENT, client->options.user_agent);
}

static void set_streamed_body(struct http_transfer *t)
{
	t->body_start = lseek(t->call->body_fd, 0, SEEK_CUR);
	curl_easy_setopt(t->curl, CURLOPT_UPLOAD, 1L);
	curl_easy_setopt(t->curl, CURLOPT_INFILESIZE_LARGE, (curl_off_t)t->call->body_fd_size);
	curl_easy_setopt(t->curl, CURLOPT_READFUNCTION, on_body_wanted);
	curl_easy_setopt(t->curl, CURLOPT_READDATA, t);
	curl_easy_setopt(t->curl, CURLOPT_SEEKFUNCTION, on_body_again);
	curl_easy_setopt(t->curl, CURLOPT_SEEKDATA, t);
	curl_easy_setopt(t->curl, CURLOPT_UPLOAD_BUFFERSIZE, SEND_SIZE);
	curl_easy_setopt(t->curl, CURLOPT_EXPECT_100_TIMEOUT_MS, EXPECT_MS);
}

static void set_body(struct http_transfer *t)
{
	const struct http_call *call = t->call;
	bool expects_body = strcmp(call->method, "POST") == 0 || strcmp(call->method, "PUT") == 0 ||
	                    strcmp(call->method, "PATCH") == 0;

	if (strcmp(call->method, "HEAD") == 0)
		curl_easy_setopt(t->curl, CURLOPT_NOBODY, 1L);
	if (call->has_body_fd) {
		set_streamed_body(t);
	} else if (call->body.size > 0 || expects_body) {
		curl_easy_setopt(t->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->body.size);
		curl_easy_setopt(t->curl, CURLOPT_POSTFIELDS,
		                 call->body.size > 0 ? call->body.data : "");
	}
	/* After the body, which would choose POST or PUT by itself. */
	curl_easy_setopt(t->curl, CURLOPT_CUSTOMREQUEST, call->method);
}

static void set_callbacks(struct http_transfer *t)
{
	curl_easy_setopt(t->curl, CURLOPT_ERRORBUFFER, t->detail);
	curl_easy_setopt(t->curl, CURLOPT_WRITEFUNCTION, on_answer_bytes);
	curl_easy_setopt(t->curl, CURLOPT_WRITEDATA, t);
	curl_easy_setopt(t->curl, CURLOPT_BUFFERSIZE, RECEIVE_SIZE);
	curl_easy_setopt(t->curl, CURLOPT_TIMEOUT_MS, (long)t->call->timeout_ms);
	if (t->call->on_progress) {
		curl_easy_setopt(t->curl, CURLOPT_NOPROGRESS, 0L);
		curl_easy_setopt(t->curl, CURLOPT_XFERINFOFUNCTION, on_curl_progress);
		curl_easy_setopt(t->curl, CURLOPT_XFERINFODATA, t);
	}
}

static bool made_connection(CURL *curl)
{
	long count = 0;

	curl_easy_getinfo(curl, CURLINFO_NUM_CONNECTS, &count);
	return count > 0;
}

static void copy_header(CURL *curl, const char *name, char *out, size_t size)
{
	struct curl_header *header = NULL;

	out[0] = '\0';
	if (curl_easy_header(curl, name, 0, CURLH_HEADER, -1, &header) == CURLHE_OK)
		(void)snprintf(out, size, "%s", header->value);
}

static int finish_transfer(struct http_client *client, struct http_transfer *t, CURLcode code,
                           struct error *err)
{
	AUTO(buf_done) struct buf what = BUF(ERROR_TEXT_MAX);
	struct http_answer *answer = &t->answer;

	buf_addf(&what, "%s %.150s", t->call->method, t->call->path);
	if (t->failure.code != ERROR_NONE) {
		*err = t->failure;
		return FAIL_CONTEXT(err, "%s", buf_text(&what));
	}
	if (answer->body.overflowed)
		return FAIL(err, ERROR_TOO_LARGE, "%s: the answer is larger than %zu bytes",
		            buf_text(&what), BODY_MAX);
	if (client_has_no_connection(t->curl, code))
		return client_fail_connect(t->curl, code, &client->options, t->detail, err);
	if (code != CURLE_OK && !t->cut)
		return client_fail(code, buf_text(&what), t->detail, err);
	answer->status = status_of(t->curl);
	answer->is_new_connection = made_connection(t->curl);
	if (!t->call->keeps_errors &&
	    client_error_read(answer->status, buf_span(&answer->body), err))
		return -1;
	copy_header(t->curl, "Content-Type", answer->content_type, sizeof(answer->content_type));
	copy_header(t->curl, "X-Request-Id", answer->request_id, sizeof(answer->request_id));
	return 0;
}

static int check_call(const struct http_call *call, struct error *err)
{
	if (client_check_path(call->path, err) < 0 ||
	    (call->content_type && client_check_text("content type", call->content_type, err) < 0))
		return -1;
	for (const char *const *line = call->headers; line && *line; line++)
		if (client_check_text("header", *line, err) < 0)
			return -1;
	if (call->project && client_check_text("project", call->project, err) < 0)
		return -1;
	return call->accept ? client_check_text("accept", call->accept, err) : 0;
}

int http_client_call(struct http_client *client, const struct http_call *call,
                     struct http_answer *ret, struct error *err)
{
	struct http_transfer t = {.call = call, .curl = client->curl, .answer.body = BUF(BODY_MAX)};
	int result;

	if (check_call(call, err) < 0)
		return -1;
	curl_easy_reset(client->curl); /* forgets the options, keeps the connections */
	client_set_target(client->curl, &client->options, call->path);
	set_headers(client, &t);
	set_body(&t);
	set_callbacks(&t);
	result = finish_transfer(client, &t, curl_easy_perform(client->curl), err);
	curl_slist_free_all(t.headers);
	if (result < 0)
		buf_done(&t.answer.body);
	else
		*ret = t.answer;
	return result;
}

void http_escape(struct buf *out, const char *text)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	                            "0123456789-._~";

	for (; *text; text++) {
		if (strchr(plain, *text))
			buf_add_byte(out, *text);
		else
			buf_addf(out, "%%%02X", (unsigned char)*text);
	}
}
