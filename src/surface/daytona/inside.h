/* SPDX-License-Identifier: Apache-2.0 */
/* surface/daytona/inside.h — calls to a sandbox whose whole answer a worker waits for. Private to
 * this folder. */
#pragma once

#include "calls/files.h"

/* A program with its arguments, never through a shell, as the sandbox's user in its folder. */
struct inside_run {
	const char **args; /* NULL-terminated */
	const char *cwd;   /* NULL = the user's home */
	struct span stdin_bytes;
	size_t out_max;
};
MUST_CHECK int inside_run(struct request *rq, const struct api_target *t,
                          const struct inside_run *run, struct compute_result *ret,
                          struct error *err);
/* The first line that it complained with, made safe to tell. */
const char *inside_complaint(struct arena *a, const struct compute_result *result);

/* A call that is answered by at most one entry; `ret` may be NULL. */
MUST_CHECK int inside_file(struct request *rq, const struct api_target *t,
                           const struct files_call *call, struct agent_file *ret,
                           struct error *err);
/* A whole file; ERROR_TOO_LARGE when it has more than size_max bytes. */
MUST_CHECK int inside_read(struct request *rq, const struct api_target *t, const char *path,
                           struct buf *out, struct error *err);
/* Replaces its content at once; mode and owner stay. */
MUST_CHECK int inside_write(struct request *rq, const struct api_target *t, const char *path,
                            struct span content, struct error *err);
