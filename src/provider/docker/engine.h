/* SPDX-License-Identifier: Apache-2.0 */
/* provider/docker/engine.h — calls to a Docker daemon: the Engine API, version 1.41, over its unix
 * socket. Any thread; a call blocks until its deadline at most. Private to this folder. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

struct arena;
struct docker_engine;
struct json_value;

/* Accepts "unix:///PATH". Does not connect yet. */
MUST_CHECK int docker_engine_open(const char *host, struct docker_engine **ret, struct error *err);
void docker_engine_close(struct docker_engine *e);

struct docker_call {
	const char *method, *path; /* below the version: "/containers/json?all=1", escaped */
	struct span body;          /* empty = none */
	const char *content_type;  /* of the body; NULL = JSON */
	int64_t deadline;
	/* Statuses of 300 and above that are no failure, ended by 0; or NULL. */
	const int *accepted;
};
struct docker_answer {
	int status;
	struct buf body;
};
/* ERROR_UNAVAILABLE names Docker and its address when the daemon cannot be reached. A failure of
 * the daemon becomes err by its status, with its message. buf_done(&ret->body) by the caller. */
MUST_CHECK int docker_engine_call(struct docker_engine *e, const struct docker_call *call,
                                  struct docker_answer *ret, struct error *err);
/* The same for a call whose body does not matter. */
MUST_CHECK int docker_engine_do(struct docker_engine *e, const struct docker_call *call,
                                int *ret_status, struct error *err);
/* The same for a JSON body, which is copied into the arena. */
MUST_CHECK int docker_engine_load(struct docker_engine *e, const struct docker_call *call,
                                  struct arena *a, const struct json_value **ret,
                                  struct error *err);
/* Pulls an image. ERROR_NOT_FOUND when no registry has it, or it cannot be read without a login. */
MUST_CHECK int docker_engine_pull(struct docker_engine *e, const char *image, int64_t deadline,
                                  struct error *err);
