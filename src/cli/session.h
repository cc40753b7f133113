/* SPDX-License-Identifier: Apache-2.0 */
/* cli/session.h — a command in a sandbox, as if it ran here: its output, our input and signals, its
 * exit status. Private to this folder.
 *
 * The main thread reads the stream of events; one thread sends standard input, one sends signals,
 * each over a connection of its own. A stream that breaks is resumed from the last byte. */
#pragma once

#include <signal.h>

#include "base/buf.h"
#include "cli/command.h"

#define SESSION_STATUS_TIMED_OUT 124

struct session_options {
	const char *sandbox;
	const char **args;      /* the command */
	const char *cwd, *user; /* NULL = the template's */
	const char *const *env; /* "KEY=value" texts, NULL-terminated; may be NULL */
	int64_t timeout_ms;     /* 0 = as long as the server allows */
};
/* The signals that a command is to get. To be blocked before any thread starts: a Ctrl-C that comes
 * early reaches the command once it runs. */
void session_block_signals(void);
/* True when one of them waits; takes it. */
bool session_was_interrupted(void);
/* *ret_status: as a shell would say it, 124 after a timeout. */
MUST_CHECK int session_run(struct cli *cli, const struct session_options *options, int *ret_status);

/* Without input and signals: waits for the end and prints the collected result as JSON. */
MUST_CHECK int session_collect(struct cli *cli, const struct session_options *options,
                               int *ret_status);

/* ---- pure parts, for tests ---- */

/* The body of POST …/exec. */
const char *session_body(struct arena *a, const struct session_options *options, bool stdin_open);
/* {"A":"b"} of "A=b" texts; a name alone takes its value from our environment. */
MUST_CHECK int session_env_json(struct arena *a, const char *const *env, const char **ret,
                                struct error *err);

/* What the events have told so far. */
struct session_events {
	struct arena arena; /* of the line at hand */
	struct buf pending; /* a begun line */
	int64_t process;    /* 0 before the start */
	char since[48];     /* "STDOUT.STDERR", to resume */
	bool ended;
	int status;
	void (*on_started)(void *context, int64_t process);
	void *context;
	int out_fd, err_fd; /* where output goes */
};
void session_events_init(struct session_events *e);
void session_events_done(struct session_events *e);
/* Takes NDJSON as it comes. */
MUST_CHECK int session_events_add(struct session_events *e, struct span bytes, struct error *err);
struct json_value;
/* One line on stderr for an end that its exit code does not explain: out of memory, a full disk. */
void session_print_cause(const struct json_value *ended);
