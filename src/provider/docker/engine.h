/* SPDX-License-Identifier: Apache-2.0 */
/* provider/docker/engine.h — calls to a Docker daemon by the Engine API over its unix socket. Any
 * thread; a call blocks until its deadline at most. Private to this folder.
 *
 * The daemon is asked for its version before the first call, and again after a connection to it
 * broke, because another daemon may listen then. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

struct arena;
struct docker_dialect;
struct docker_engine;
struct http_answer;
struct json_value;

/* Accepts "unix:///PATH". Does not connect yet. */
MUST_CHECK int docker_engine_open(const char *host, struct docker_engine **ret, struct error *err);
void docker_engine_close(struct docker_engine *e);
/* Further calls go to another address. */
MUST_CHECK int docker_engine_move(struct docker_engine *e, const char *host, struct error *err);
/* The daemon's own ways. */
MUST_CHECK int docker_engine_dialect(struct docker_engine *e, int64_t deadline,
                                     const struct docker_dialect **ret, struct error *err);

struct docker_call {
	const char *method, *path; /* below the version: "/containers/json?all=1", escaped */
	struct span body;          /* empty = none */
	const char *content_type;  /* of the body; NULL = JSON */
	int64_t deadline;
	/* Statuses of 300 and above that are no failure, ended by 0; or NULL. One of 400 and above
	 * counts only with a message of the daemon. */
	const int *accepted;
	const char *const *headers; /* "Name: value", NULL-terminated; or NULL */
	/* Called with each piece of a body of status 2xx, which then is not kept; or NULL. */
	bool (*on_body)(void *context, struct span piece);
	void *context;
};
struct docker_answer {
	int status;
	struct buf body;
};
/* A failure of the daemon becomes err by its status, with its message: ERROR_UNAVAILABLE or
 * ERROR_TIMEOUT when it cannot be reached, has an error of its own or answers what is no answer.
 * buf_done(&ret->body) by the caller. */
MUST_CHECK int docker_engine_call(struct docker_engine *e, const struct docker_call *call,
                                  struct docker_answer *ret, struct error *err);
/* The same for a call whose body does not matter. */
MUST_CHECK int docker_engine_do(struct docker_engine *e, const struct docker_call *call,
                                int *ret_status, struct error *err);
/* The same for a JSON body, which is copied into the arena. */
MUST_CHECK int docker_engine_load(struct docker_engine *e, const struct docker_call *call,
                                  struct arena *a, const struct json_value **ret,
                                  struct error *err);

/* pull.c */
struct docker_pull {
	const char *image;
	const char *login; /* of the registry, the value of X-Registry-Auth; NULL = none */
	int64_t deadline;
};
/* ERROR_NOT_FOUND when no registry has the image, or it cannot be read with this login. */
MUST_CHECK int docker_engine_pull(struct docker_engine *e, const struct docker_pull *pull,
                                  struct error *err);
