/* SPDX-License-Identifier: Apache-2.0 */
/* provider/lambda/lambda.h — functions at AWS Lambda as a provider of ephemeral calls. Private to
 * this folder.
 *
 * A sandbox is a row in memory: it has no counterpart at the service. Each command of it is one
 * invocation of a function (deploy/lambda), which runs it in a fresh folder and keeps nothing.
 * Calls come as messages of wire/agent.h on one end of a socket pair; connection.c answers them on
 * the thread of http/client/async.h, so that no thread waits for a command. What an agent does
 * besides commands is refused by name. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "base/id.h"
#include "base/list.h"
#include "base/map.h"
#include "provider/kind_options.h"
#include "provider/kinds.h"

#define LAMBDA_TIMEOUT_MAX_MS 300000
#define LAMBDA_OUTPUT_MAX (256 * 1024)     /* bytes of each stream; the function cuts there, too */
#define LAMBDA_INPUT_MAX (3 * 1024 * 1024) /* bytes of standard input: a request has 6 MB */
#define LAMBDA_PAUSE_MAX_MS 5000           /* a longer one fails the call */
#define LAMBDA_WORKSPACE_MAX 255           /* bytes of its folder */

struct agent_exec;
struct http_async;
struct http_async_answer;

/* The options, as a copy that a call holds while another thread changes them. */
struct lambda_settings {
	atomic_uint holders;
	struct arena arena;
	struct lambda_options options;
	const char *host; /* of the endpoint, with its port */
};

struct lambda_sandbox {
	char id[ID_SIZE + 1];
	char owner[ID_SIZE + 1];
	int64_t lease_epoch;
	bool has_network;
	char workspace[LAMBDA_WORKSPACE_MAX + 1]; /* folder of its files that stay; "" = none */
};

struct lambda {
	struct provider base;
	struct provider_ops ops;
	char *name;
	struct http_async *http;
	atomic_uint connection_count;
	struct list connections; /* of the thread of `http` */

	pthread_mutex_t mutex; /* guards all below */
	struct lambda_settings *settings;
	struct map sandboxes;  /* id -> struct lambda_sandbox */
	int64_t limited_until; /* monotonic: the service has asked for a pause */
};

static inline struct lambda *as_lambda(struct provider *p)
{
	return (struct lambda *)p;
}

/* lambda.c */
struct lambda_settings *lambda_settings_hold(struct lambda *l);
void lambda_settings_release(struct lambda_settings *s);
/* Milliseconds until the service allows another call; 0: now. */
int64_t lambda_limit_ms(struct lambda *l);
void lambda_limit_note(struct lambda *l, int64_t pause_ms);

/* connection.c: a connection to the agent that the sandbox does not have. */
MUST_CHECK int lambda_connect(struct lambda *l, const struct lambda_sandbox *s, int *ret_fd,
                              struct error *err);
/* Ends those of the sandbox, or all when `id` is NULL. An invocation goes on at the service. */
void lambda_connections_end(struct lambda *l, const char *id);

/* invoke.c: one call of the service. */
struct lambda_call {
	const struct lambda_settings *settings;
	const char *function;
	struct span body;
	bool is_trial; /* the service only checks that it could be made */
};
/* What http_async_call takes. The texts are in the arena. */
struct http_async_call;
MUST_CHECK int lambda_call_sign(struct arena *a, const struct lambda_call *call,
                                struct http_async_call *ret, struct error *err);
/* The function for such a sandbox; "" = none is configured. */
const char *lambda_function_of(const struct lambda_settings *s, const struct lambda_sandbox *of);
/* The document that a command becomes, and what the function says of it. */
int lambda_command_write(struct buf *out, const struct lambda_sandbox *s,
                         const struct agent_exec *exec, struct error *err);
struct lambda_result {
	bool timed_out;
	int64_t exit_code, signal, duration_ms;
	struct span out[2]; /* stdout and stderr, in the arena */
	int64_t bytes[2];   /* that the command wrote */
};
/* 0, or -1 with the failure of the function or the service in plain words. ERROR_UNAVAILABLE with
 * retry_after_s > 0 after a limit. */
MUST_CHECK int lambda_answer_read(struct arena *a, const struct lambda_call *call,
                                  const struct http_async_answer *answer, struct lambda_result *ret,
                                  struct error *err);
/* The same for an answer whose body does not matter. */
MUST_CHECK int lambda_answer_check(const struct lambda_call *call,
                                   const struct http_async_answer *answer, struct error *err);
