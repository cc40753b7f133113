/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/http/server/harness.h — a real server on a loopback port, its loop in a thread, and a
 * blunt client: raw bytes out, whole answers in. Every read gives up after a few seconds. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "http/server/http.h"
#include "worker/worker.h"

struct fixture {
	struct loop *loop;
	struct worker_pool *workers;
	struct http_server *server;
	pthread_t thread;
	uint16_t port;
};
/* `limits` may be NULL; its loop, workers and routes are filled in. */
void fixture_open(struct fixture *f, const struct route *routes,
                  const struct server_options *limits);
void fixture_open_workers(struct fixture *f, const struct route *routes,
                          const struct server_options *limits,
                          const struct worker_options *workers);
void fixture_close(struct fixture *f);
struct server_counts fixture_counts(struct fixture *f);
/* Waits until the counts satisfy the condition; fails the test after a few seconds. */
void fixture_await(struct fixture *f, bool (*holds)(const struct server_counts *counts));

int client_connect(const struct fixture *f);
void client_send(int fd, const char *text);
void client_send_bytes(int fd, const void *data, size_t size);
void client_receive_bytes(int fd, void *room, size_t size);
/* True at the end of the stream (or a reset), with nothing before it. */
bool client_is_closed(int fd);

struct answer {
	int status;
	char head[4096];
	char body[65536];
	size_t body_size;
};
/* One answer with a length or in chunks; `request` says whether a body follows. */
void client_receive(int fd, struct answer *ret);
void client_receive_head(int fd, struct answer *ret);
bool answer_has(const struct answer *answer, const char *header_line);
/* Sends on a fresh connection, receives one answer. */
void client_ask(const struct fixture *f, const char *request, struct answer *ret);
