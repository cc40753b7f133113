/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/api/harness.h — the whole api process inside a test: store in memory, a provider whose
 * agent is scripted (fake_provider.c), loop thread, workers, a real socket. */
#pragma once

#include <pthread.h>

#include "api/api.h"
#include "base/bytes.h"
#include "config/config.h"
#include "edge/api.h"

struct provider *fake_provider_open(void);
/* Sees every request to an agent. True: it has answered, in its way, and the connection is closed.
 */
extern bool (*fake_agent_hook)(const char *sandbox, int fd, uint16_t type);
void fake_provider_close(struct provider *p);

struct harness_options {
	unsigned threads;                     /* of workers; 0 = 4 */
	int64_t deadline_ms;                  /* of every handler; 0 = the server's */
	unsigned requests_per_key_max;        /* 0 = 8 */
	unsigned agent_threads;               /* 0: there is no agents' lane */
	unsigned agent_calls_per_sandbox_max; /* 0 = no bound */
};

struct harness {
	struct config config;
	struct arena config_texts;
	struct store *store;
	struct provider *provider;
	struct fleet *fleet;
	struct worker_pool *workers;
	struct loop *loop;
	struct http_server *server;
	struct api api;
	pthread_t thread;
	uint16_t port;
	char admin[64]; /* a key with every scope */
	char data[64];
	struct harness_options options;
};
void harness_open(struct harness *h);
void harness_open_with(struct harness *h, const struct harness_options *options);
void harness_close(struct harness *h);
/* A key of the project with these scopes. */
void harness_key(struct harness *h, const char *project_id, unsigned scopes, char ret[64]);

struct call {
	const char *method, *path;
	const char *key;     /* NULL = none */
	const char *type;    /* of the body; NULL = application/json */
	const char *headers; /* whole lines; NULL = none */
	bool names_no_host;
	struct span body;
};
struct answer {
	int status;
	struct buf text;  /* head and body */
	const char *body; /* in text */
};
/* Over a connection of its own, by HTTP/1.0, so that the body ends where the connection does. */
struct answer harness_call(const struct harness *h, const struct call *call);
void answer_done(struct answer *a);
