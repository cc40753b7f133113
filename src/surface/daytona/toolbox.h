/* SPDX-License-Identifier: Apache-2.0 */
/* surface/daytona/toolbox.h — calls into a sandbox whose whole answer a worker waits for. */
#pragma once

#include <stddef.h>

#include "base/bytes.h"

struct agent_file;
struct api_target;
struct compute_result;
struct files_call;
struct request;

/* A program with its arguments. It runs as the sandbox's user, and never through a shell. */
struct toolbox_command {
	const char **args; /* NULL-terminated */
	const char *cwd;   /* NULL = the user's home */
	struct span stdin_bytes;
	size_t out_max; /* bytes of output that are kept */
};
MUST_CHECK int toolbox_run(struct request *rq, const struct api_target *t,
                           const struct toolbox_command *command, struct compute_result *ret,
                           struct error *err);
/* The first line of the program's standard error, with control characters replaced. */
const char *toolbox_complaint(struct arena *a, const struct compute_result *result);

/* A call that the agent answers with at most one entry; `ret` may be NULL. */
MUST_CHECK int toolbox_call_file(struct request *rq, const struct api_target *t,
                                 const struct files_call *call, struct agent_file *ret,
                                 struct error *err);
/* Reads a whole file. ERROR_TOO_LARGE if it has more than out->size_max bytes. */
MUST_CHECK int toolbox_read_file(struct request *rq, const struct api_target *t, const char *path,
                                 struct buf *out, struct error *err);
/* Replaces a file's content atomically; its mode and owner stay. */
MUST_CHECK int toolbox_write_file(struct request *rq, const struct api_target *t, const char *path,
                                  struct span content, struct error *err);
