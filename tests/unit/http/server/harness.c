/* SPDX-License-Identifier: Apache-2.0 */
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "harness.h"
#include "loop/loop.h"
#include "unit.h"
#include "unit/loopback.h"

#include "base/clock.h"

#define PATIENCE_MS 10000

static void *run_loop(void *context)
{
	loop_run(context);
	return NULL;
}

void fixture_open(struct fixture *f, const struct route *routes,
                  const struct server_options *limits)
{
	fixture_open_workers(f, routes, limits,
	                     &(struct worker_options){.threads = 2, .queue_max = 64});
}

void fixture_open_workers(struct fixture *f, const struct route *routes,
                          const struct server_options *limits, const struct worker_options *workers)
{
	struct server_options options = limits ? *limits : (struct server_options){0};
	const struct route *const tables[] = {routes, NULL};
	struct error err = {0};

	assert_int_equal(loop_open(&f->loop, &err), 0);
	assert_int_equal(worker_pool_start(workers, &f->workers, &err), 0);
	options.loop = f->loop;
	options.workers = f->workers;
	options.routes = tables;
	assert_int_equal(server_open(&options, &f->server, &err), 0);
	assert_int_equal(server_listen_fd(f->server, loopback_listen(&f->port), &err), 0);
	assert_int_equal(pthread_create(&f->thread, NULL, run_loop, f->loop), 0);
}

void fixture_close(struct fixture *f)
{
	loop_stop(f->loop);
	pthread_join(f->thread, NULL);
	server_close(f->server);
	worker_pool_stop(f->workers);
	loop_close(f->loop);
}

struct count_task {
	struct loop_task task;
	struct fixture *f;
	struct server_counts counts;
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	bool done;
};

static void take_counts(struct loop_task *task)
{
	struct count_task *c = CONTAINER_OF(task, struct count_task, task);

	pthread_mutex_lock(&c->mutex);
	c->counts = server_counts_get(c->f->server);
	c->done = true;
	pthread_cond_signal(&c->cond);
	pthread_mutex_unlock(&c->mutex);
}

struct server_counts fixture_counts(struct fixture *f)
{
	struct count_task c = {.task = {.run = take_counts}, .f = f};

	pthread_mutex_init(&c.mutex, NULL);
	pthread_cond_init(&c.cond, NULL);
	loop_post(f->loop, &c.task);
	pthread_mutex_lock(&c.mutex);
	while (!c.done)
		pthread_cond_wait(&c.cond, &c.mutex);
	pthread_mutex_unlock(&c.mutex);
	return c.counts;
}

void fixture_await(struct fixture *f, bool (*holds)(const struct server_counts *counts))
{
	int64_t deadline = deadline_after(PATIENCE_MS);

	for (;;) {
		struct server_counts counts = fixture_counts(f);

		if (holds(&counts))
			return;
		assert_true(clock_monotonic_ms() < deadline);
	}
}

int client_connect(const struct fixture *f)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
	                              .sin_port = htons(f->port),
	                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct timeval patience = {.tv_sec = PATIENCE_MS / 1000};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)), 0);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

void client_send_bytes(int fd, const void *data, size_t size)
{
	const char *at = data;

	while (size) {
		ssize_t sent = send(fd, at, size, MSG_NOSIGNAL);

		assert_true(sent > 0);
		at += sent;
		size -= (size_t)sent;
	}
}

void client_send(int fd, const char *text)
{
	client_send_bytes(fd, text, strlen(text));
}

void client_receive_bytes(int fd, void *room, size_t size)
{
	char *at = room;

	while (size) {
		ssize_t got = recv(fd, at, size, 0);

		assert_true(got > 0);
		at += got;
		size -= (size_t)got;
	}
}

bool client_is_closed(int fd)
{
	char byte;
	ssize_t got = recv(fd, &byte, 1, 0);

	return got == 0 || (got < 0 && errno == ECONNRESET);
}

void client_receive_head(int fd, struct answer *ret)
{
	size_t size = 0;

	memset(ret, 0, sizeof(*ret));
	while (size < 4 || memcmp(ret->head + size - 4, "\r\n\r\n", 4) != 0) {
		assert_true(size < sizeof(ret->head) - 1);
		client_receive_bytes(fd, ret->head + size++, 1);
	}
	assert_memory_equal(ret->head, "HTTP/1.1 ", 9);
	ret->status = (int)strtol(ret->head + 9, NULL, 10);
}

static size_t receive_chunk_size(int fd)
{
	char line[32] = "";
	size_t size = 0;

	while (size < 2 || memcmp(line + size - 2, "\r\n", 2) != 0) {
		assert_true(size < sizeof(line) - 1);
		client_receive_bytes(fd, line + size++, 1);
	}
	return strtoul(line, NULL, 16);
}

static void receive_chunks(int fd, struct answer *ret)
{
	char end[2];
	size_t size;

	do {
		size = receive_chunk_size(fd);
		assert_true(ret->body_size + size < sizeof(ret->body));
		client_receive_bytes(fd, ret->body + ret->body_size, size);
		ret->body_size += size;
		client_receive_bytes(fd, end, 2);
		assert_memory_equal(end, "\r\n", 2);
	} while (size);
}

void client_receive(int fd, struct answer *ret)
{
	const char *length;

	client_receive_head(fd, ret);
	length = strstr(ret->head, "\r\nContent-Length: ");
	if (length) {
		ret->body_size = strtoul(length + 18, NULL, 10);
		assert_true(ret->body_size < sizeof(ret->body));
		client_receive_bytes(fd, ret->body, ret->body_size);
	} else if (answer_has(ret, "Transfer-Encoding: chunked")) {
		receive_chunks(fd, ret);
	}
}

bool answer_has(const struct answer *answer, const char *header_line)
{
	char line[256];

	snprintf(line, sizeof(line), "\r\n%s\r\n", header_line);
	return strstr(answer->head, line);
}

void client_ask(const struct fixture *f, const char *request, struct answer *ret)
{
	int fd = client_connect(f);

	client_send(fd, request);
	client_receive(fd, ret);
	close(fd);
}
