/* SPDX-License-Identifier: Apache-2.0 */
/* terminal/recording.h — records windows as asciicast (version 2) in the blob store. Recordings
 * outlive their sandbox.
 *
 * A recording begins with the output that the agent still has. It is listed when it is complete:
 * when the window has closed, at the size limit, or when this server ends. After a kill -9 the next
 * server lists the whole lines. Only output is recorded, which includes the terminal's echo. Each
 * recording runs on its own thread. Background jobs are recorded in the same way. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct agent_process;
struct terminal_at;
struct terminal_window;
struct terminals;

#define RECORDING_BYTES_MAX ((int64_t)16 * 1024 * 1024)
#define RECORDINGS_AT_ONCE_MAX 64
#define RECORDINGS_MAX 1000 /* of a project */
#define RECORDING_ID_MAX 80
/* Of the blob recordings/PROJECT/ID.cast. */
#define RECORDING_FOLDER "recordings/"
#define RECORDING_SUFFIX ".cast"

/* A new id. Nothing of it comes from the agent, so that a sandbox cannot choose the id of another
 * recording. */
void recording_id_make(char ret[RECORDING_ID_MAX + 1], const char *sandbox, int64_t now);

/* Whether a further recording may begin: there is a blob store, the server does not stop, and the
 * project has fewer than RECORDINGS_MAX. Reads the blob store. */
MUST_CHECK int terminal_recordings_check(struct terminals *t, const char *project_id,
                                         struct error *err);

/* The same for recordings that run on a thread of their own: there is room for one more. */
MUST_CHECK int terminal_record_check(struct terminals *t, const char *project_id,
                                     struct error *err);
/* Succeeds when the window is being recorded. ERROR_UNSUPPORTED without a blob store. */
MUST_CHECK int terminal_record(const struct terminal_at *at, const char *project_id,
                               const struct terminal_window *window, struct error *err);
/* Records a process without a terminal, such as a background job, as windows are: to its end, up to
 * RECORDING_BYTES_MAX, and no further than this server lives. at->who and at->hold are used. */
MUST_CHECK int terminal_record_process(const struct terminal_at *at, const char *project_id,
                                       const struct agent_process *process, const char *title,
                                       char ret_id[RECORDING_ID_MAX + 1], struct error *err);
/* At the server's start: publishes the recordings that a killed server has left. */
void terminals_recover(struct terminals *t);
/* Ends all recordings. Call it before the provider and the blob store close; afterwards only
 * terminals_free may be called. */
void terminals_stop(struct terminals *t);

struct terminal_recording {
	const char *id, *sandbox;
	int64_t size, started_at;
	/* of terminal_recording_describe: */
	int64_t process;           /* 0 = not known */
	const char *window, *user; /* NULL = not known */
	int64_t duration_ms;       /* -1 = not known */
};
struct terminal_recordings {
	struct terminal_recording *items; /* by sandbox, then by time */
	size_t count;
};
MUST_CHECK int terminal_recordings_list(struct terminals *t, struct arena *a,
                                        const char *project_id, struct terminal_recordings *ret,
                                        struct error *err);
/* Reads the begin and the end of the recording for its window, user and duration. What cannot be
 * read stays unknown. */
void terminal_recording_describe(struct terminals *t, struct arena *a, const char *project_id,
                                 struct terminal_recording *r);
/* See blob_get. */
MUST_CHECK int terminal_recording_open(struct terminals *t, const char *project_id, const char *id,
                                       int *ret_fd, int64_t *ret_size, struct error *err);
MUST_CHECK int terminal_recording_delete(struct terminals *t, const char *project_id,
                                         const char *id, struct error *err);
