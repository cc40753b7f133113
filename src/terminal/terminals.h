/* SPDX-License-Identifier: Apache-2.0 */
/* terminal/terminals.h — the server's state of windows, and calls that the files of this folder
 * share. */
#pragma once

#include <pthread.h>

#include "base/bytes.h"
#include "base/list.h"
#include "provider/agent_reader.h"
#include "terminal/terminal.h"
#include "wire/agent.h"

#define TERMINAL_STRIPES 64

struct screens;
struct terminals {
	/* Locks for opening a name and for beginning a command, by sandbox and window. */
	pthread_mutex_t opening[TERMINAL_STRIPES], running[TERMINAL_STRIPES];
	struct screens *screens;
	struct terminals_options options;
	char *spool;      /* NULL: none */
	unsigned waiting; /* calls; atomic */
	/* Changed by one thread, see viewers.h. */
	pthread_mutex_t viewers_lock;
	struct list viewers;
	uint64_t viewer_count;
	pthread_mutex_t recorders_lock; /* guards the following members */
	pthread_cond_t recorder_ended;
	struct list recorders;
	unsigned recorder_count;
	struct list casts; /* of command_cast.c */
	bool stopping;     /* atomic */
};
/* Counts a call that may wait against waits_max. */
MUST_CHECK int terminal_wait_begin(struct terminals *t, struct error *err);
void terminal_wait_end(struct terminals *t);

/* ERROR_TIMEOUT at the deadline. */
MUST_CHECK int terminal_lock(pthread_mutex_t *stripes, const struct terminal_at *at,
                             pthread_mutex_t **ret, struct error *err);
void terminal_unlock(pthread_mutex_t **lock); /* NULL is fine */

MUST_CHECK int terminal_ask(const struct terminal_at *at, const struct agent_terminal *change,
                            struct agent_terminal_state *ret, struct error *err);
/* Types; at most TERMINAL_INPUT_MAX bytes. */
/* Calls options.on_change. */
void terminals_tell(struct terminals *t, enum event_kind kind, const char *sandbox,
                    const char *name);
MUST_CHECK int terminal_feed(const struct terminal_at *at, uint64_t process, struct span bytes,
                             struct error *err);

struct terminal_reader {
	struct agent_reader agent;
	struct arena arena; /* of the current message */
	bool over;          /* the process has ended; `process` is set */
	struct agent_process process;
};
/* Reads from `since` on; with `follow` until the process ends, else the existing output. */
MUST_CHECK int terminal_reader_open(struct terminal_reader *r, const struct terminal_at *at,
                                    uint64_t process, uint64_t since, bool follow,
                                    struct error *err);
/* 1 = output, borrowed until the next call; 0 = the end; -1 = failed. After ERROR_TIMEOUT, at the
 * deadline, the caller may continue. */
MUST_CHECK int terminal_reader_next(struct terminal_reader *r, int64_t deadline,
                                    struct agent_output *ret, struct error *err);
void terminal_reader_done(struct terminal_reader *r);
