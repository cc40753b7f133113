/* SPDX-License-Identifier: Apache-2.0 */
/* cli/core/session.h — a command in a sandbox that behaves like a local one: output, input, signals
 * and exit status.
 *
 * The main thread reads the event stream. One thread sends standard input and another sends
 * signals, each over its own connection. An interrupted stream is resumed after the last byte
 * received. */
#pragma once

#include <signal.h>

#include "cli/core/command.h"
#include "cli/core/event_lines.h"

#define SESSION_STATUS_TIMED_OUT 124

struct session_options {
	const char *sandbox;
	const char **args;      /* the command */
	const char *cwd, *user; /* NULL = the template's */
	const char *const *env; /* "KEY=value" texts, NULL-terminated; may be NULL */
	int64_t timeout_ms;     /* 0 = the server's limit */
	bool is_recorded;
};
/* Blocks the signals that the command will get. Call it before any thread starts: an early Ctrl-C
 * then reaches the command once it runs. */
void session_block_signals(void);
/* Whether a blocked signal is pending; removes it. */
bool session_was_interrupted(void);
/* *ret_status is the status that a shell would report; 124 after a timeout. */
MUST_CHECK int session_run(struct cli *cli, const struct session_options *options, int *ret_status);

/* Runs without input and signals; waits for the end and prints the collected result as JSON. */
MUST_CHECK int session_collect(struct cli *cli, const struct session_options *options,
                               int *ret_status);

/* The body of POST …/exec. */
const char *session_body(struct arena *a, const struct session_options *options, bool stdin_open);
/* {"A":"b"} from "A=b" texts; a name alone takes its value from the environment. */
MUST_CHECK int session_env_json(struct arena *a, const char *const *env, const char **ret,
                                struct error *err);

/* The state of a stream of events. */
struct session_events {
	struct event_lines lines;
	int64_t process; /* 0 before the start */
	char since[48];  /* "STDOUT.STDERR" offsets, to resume */
	bool ended;
	int status;
	void (*on_started)(void *context, int64_t process);
	void *context;
	int out_fd, err_fd; /* where output goes */
};
void session_events_init(struct session_events *e);
/* Processes a piece of NDJSON; for server_stream. `context` is a struct session_events. */
MUST_CHECK int session_events_add(void *context, struct span bytes, struct error *err);
struct json_value;
/* Prints a line to stderr if the cause explains more than the exit code, such as out of memory or a
 * full disk. */
void session_print_cause(const struct json_value *ended);
/* Prints a line to stderr that tells how to replay the recording, if the answer names one. */
void session_print_recording(const struct json_value *ended);
/* The status that a shell would report for an "exit" event or a complete answer; prints the
 * cause. */
int session_exit_status(const struct json_value *ended);
