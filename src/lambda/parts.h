/* SPDX-License-Identifier: Apache-2.0 */
/* lambda/parts.h — the parts of lambda.h. Private to this folder. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

#define COMMAND_TIMEOUT_MAX_MS 300000
#define COMMAND_OUTPUT_MAX (256 * 1024) /* bytes of each stream */
#define WORKSPACE_ROOT "/mnt/workspaces"
#define TEMPORARY_ROOT "/tmp"

/* api.c: a call of the Runtime API at "HOST:PORT". */
struct runtime_call {
	const char *api;  /* "127.0.0.1:9001" */
	const char *path; /* NULL body: GET, else POST */
	const struct buf *body;
	const char *error_type; /* of a failure, for its header; NULL = none */
};
#define REQUEST_ID_MAX 128
struct runtime_answer {
	int status;
	struct buf body; /* buf_done by the caller */
	char request_id[REQUEST_ID_MAX + 1];
	int64_t deadline_unix_ms; /* 0 = not told */
};
/* Waits as long as the service does. */
MUST_CHECK int runtime_do(const struct runtime_call *call, struct runtime_answer *ret,
                          struct error *err);

/* command.c */
struct command {
	const char **args, **env; /* NULL-terminated */
	const char *cwd;          /* "" = the workspace, or the folder of the call */
	struct span input;
	int64_t timeout_ms, output_max;
	const char *workspace; /* its folder; NULL = none */
};
struct function_end {
	bool timed_out;
	int exit_code, signal;
	int64_t duration_ms;
	struct buf out[2]; /* stdout and stderr; function_end_done */
	uint64_t bytes[2]; /* that the command wrote */
	bool is_missing;   /* the program does not exist */
};
void function_end_done(struct function_end *end);
/* Runs it to its end, and kills what it has started. ERROR_INVALID for a folder that cannot be
 * entered. */
MUST_CHECK int command_run(const struct command *c, struct function_end *ret, struct error *err);

/* leftovers.c */
/* Kills all descendants of this process, again and again until none is left. -1: some are. */
MUST_CHECK int leftovers_kill(struct error *err);
/* Removes every file below TEMPORARY_ROOT and /dev/shm, and every System V object of this user. */
MUST_CHECK int leftovers_remove(struct error *err);
