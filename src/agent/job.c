/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/job.h"

#include <assert.h>
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "agent/process.h"
#include "base/clock.h"
#include "wire/agent_cause.h"

#define TRIES 6
#define WAIT_FIRST_MS 1000 /* and twice as long each time */
#define TRY_MS 10000
#define ANSWER_MAX 512 /* bytes; only the status is read */
#define REQUEST_MAX (256 * 1024)

struct post {
	struct list item;
	struct watch watch;
	uint64_t process;
	struct sockaddr_storage address;
	socklen_t address_size;
	struct buf request, answer;
	size_t sent;
	unsigned tries;
	int64_t try_at, deadline; /* one of them is DEADLINE_NEVER */
	bool done;
};

struct job *job_new(const struct agent_job *info)
{
	struct job *j = memory_new(sizeof(*j));

	j->info = (struct agent_job){
	        .id = arena_text(&j->arena, info->id),
	        .address = arena_text(&j->arena, info->address),
	        .port = info->port,
	        .host = arena_text(&j->arena, info->host),
	        .path = arena_text(&j->arena, info->path),
	        .token = arena_text(&j->arena, info->token),
	};
	return j;
}

void job_free(struct job *j)
{
	if (!j)
		return;
	arena_done(&j->arena);
	free(j);
}

static void add_base64(struct buf *out, struct span bytes)
{
	static const char digits[] =
	        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < bytes.size; i += 3) {
		size_t left = bytes.size - i;
		uint32_t group = (uint32_t)(unsigned char)bytes.data[i] << 16;

		if (left > 1)
			group |= (uint32_t)(unsigned char)bytes.data[i + 1] << 8;
		if (left > 2)
			group |= (unsigned char)bytes.data[i + 2];
		buf_add_byte(out, digits[group >> 18 & 63]);
		buf_add_byte(out, digits[group >> 12 & 63]);
		buf_add_byte(out, left > 1 ? digits[group >> 6 & 63] : '=');
		buf_add_byte(out, left > 2 ? digits[group & 63] : '=');
	}
}

static void add_tail(struct buf *out, const struct ring *r)
{
	AUTO(buf_done) struct buf tail = BUF(AGENT_JOB_TAIL_MAX);
	uint64_t at = r->end > AGENT_JOB_TAIL_MAX ? r->end - AGENT_JOB_TAIL_MAX : 0;

	while (at < r->end) {
		struct span piece = ring_peek(r, &at);

		if (piece.size == 0)
			break;
		buf_add_span(&tail, piece);
		at += piece.size;
	}
	add_base64(out, buf_span(&tail));
}

static void write_body(struct buf *out, const struct process *p)
{
	const struct agent_process *info = &p->info;

	buf_addf(out, "{\"status\":\"%s\",\"exitCode\":%d,\"signal\":%u,\"timedOut\":%s,",
	         info->exit_code == 0 ? "completed" : "failed", (int)info->exit_code, info->signal,
	         info->timed_out ? "true" : "false");
	buf_addf(out, "\"cause\":\"%s\",\"durationMs\":%lu,\"stdoutBase64\":\"",
	         agent_process_cause(info), (unsigned long)info->duration_ms);
	add_tail(out, &p->out[0].ring);
	buf_add_text(out, "\",\"stderrBase64\":\"");
	add_tail(out, &p->out[1].ring);
	buf_add_text(out, "\"}");
}

static void write_request(struct buf *out, const struct process *p)
{
	const struct agent_job *job = &p->job->info;
	AUTO(buf_done) struct buf body = BUF(REQUEST_MAX);

	write_body(&body, p);
	buf_addf(out,
	         "POST %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n"
	         "User-Agent: atoll-agent\r\nContent-Type: application/json\r\n"
	         "Content-Length: %zu\r\nConnection: close\r\n\r\n",
	         job->path, job->host, job->token, body.size);
	buf_add_span(out, buf_span(&body));
}

static bool parse_address(const struct agent_job *job, struct post *post)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons((uint16_t)job->port)};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6,
	                           .sin6_port = htons((uint16_t)job->port)};

	if (inet_pton(AF_INET, job->address, &in.sin_addr) == 1) {
		memcpy(&post->address, &in, sizeof(in));
		post->address_size = sizeof(in);
		return true;
	}
	if (inet_pton(AF_INET6, job->address, &in6.sin6_addr) == 1) {
		memcpy(&post->address, &in6, sizeof(in6));
		post->address_size = sizeof(in6);
		return true;
	}
	return false;
}

static void try_later(struct agent *a, struct post *post)
{
	if (post->watch.fd >= 0)
		watch_close(a, &post->watch);
	post->deadline = DEADLINE_NEVER;
	post->done = post->tries >= TRIES;
	post->try_at = deadline_after((int64_t)WAIT_FIRST_MS << (post->tries - 1));
}

/* "HTTP/1.1 204 …": 0 while it is incomplete, -1 if it is no status line. */
static int parse_status(const struct buf *answer)
{
	const char *text = buf_text(answer);
	int status = 0;

	if (answer->size < 12)
		return 0;
	if (strncmp(text, "HTTP/1.", 7) != 0 || text[8] != ' ')
		return -1;
	for (int i = 9; i < 12; i++) {
		if (text[i] < '0' || text[i] > '9')
			return -1;
		status = status * 10 + text[i] - '0';
	}
	return status;
}

/* Any status that another attempt would not change ends the attempts. */
static bool is_final(int status)
{
	return status >= 200 && status < 500 && status != 408 && status != 425 && status != 429;
}

static void receive_answer(struct agent *a, struct post *post)
{
	char bytes[ANSWER_MAX];
	ssize_t got = recv(post->watch.fd, bytes, sizeof(bytes), MSG_DONTWAIT);
	int status;

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got > 0)
		buf_add(&post->answer, bytes, (size_t)got);
	status = parse_status(&post->answer);
	if (status == 0 && got > 0)
		return;
	if (is_final(status)) {
		struct process *p = process_find(a, post->process);

		watch_close(a, &post->watch);
		post->done = true;
		if (p)
			p->job->is_told = true;
	} else {
		try_later(a, post);
	}
}

static void send_some(struct agent *a, struct post *post)
{
	ssize_t sent = send(post->watch.fd, post->request.data + post->sent,
	                    post->request.size - post->sent, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (sent < 0 && errno != EAGAIN && errno != EINTR) {
		try_later(a, post);
		return;
	}
	post->sent += sent > 0 ? (size_t)sent : 0;
	if (post->sent == post->request.size)
		watch_set(a, &post->watch, EPOLLIN);
}

static void on_event(struct agent *a, struct watch *w, UNUSED uint32_t events)
{
	struct post *post = CONTAINER_OF(w, struct post, watch);

	if (post->sent < post->request.size)
		send_some(a, post);
	else
		receive_answer(a, post);
}

static void try_post(struct agent *a, struct post *post)
{
	int fd = socket(post->address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	post->tries++;
	post->sent = 0;
	buf_reset(&post->answer);
	post->try_at = DEADLINE_NEVER;
	post->deadline = deadline_after(TRY_MS);
	post->watch = (struct watch){.fd = fd, .on_event = on_event};
	if (fd < 0 ||
	    (connect(fd, (const struct sockaddr *)&post->address, post->address_size) < 0 &&
	     errno != EINPROGRESS))
		try_later(a, post);
	else
		watch_set(a, &post->watch, EPOLLOUT);
}

static void post_free(struct post *post)
{
	list_remove(&post->item);
	buf_done(&post->request);
	buf_done(&post->answer);
	free(post);
}

void post_begin(struct process *p)
{
	struct agent *a = p->agent;
	struct post *post;

	if (!p->job || !p->job->info.address[0] || a->post_count >= POSTS_MAX)
		return;
	post = memory_new(sizeof(*post));
	list_init(&post->item);
	post->watch.fd = -1;
	post->process = p->info.process;
	post->request = BUF(REQUEST_MAX);
	post->answer = BUF(ANSWER_MAX);
	write_request(&post->request, p);
	if (!parse_address(&p->job->info, post)) {
		post_free(post);
		return;
	}
	list_append(&a->posts, &post->item);
	a->post_count++;
	try_post(a, post);
}

int64_t posts_next_deadline(const struct agent *a)
{
	int64_t first = DEADLINE_NEVER;

	LIST_EACH (&a->posts, const struct post, post, item) {
		if (post->done)
			return 0;
		first = post->try_at < first ? post->try_at : first;
		first = post->deadline < first ? post->deadline : first;
	}
	return first;
}

void posts_run_timers(struct agent *a, int64_t now)
{
	LIST_EACH (&a->posts, struct post, post, item) {
		if (!post->done && post->deadline <= now)
			try_later(a, post);
		if (!post->done && post->try_at <= now)
			try_post(a, post);
		if (post->done) {
			assert(a->post_count > 0);
			a->post_count--;
			post_free(post);
		}
	}
}
