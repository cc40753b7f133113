/* SPDX-License-Identifier: Apache-2.0 */
/* terminal/recording.h — what windows showed, kept as asciicast (version 2) in the blob store, also
 * when the sandbox is gone.
 *
 * A recording begins with what the agent still has, and is listed once it is whole: when the window
 * has closed, when it is as long as it may be, or when this server ends. What a kill -9 leaves, a
 * file of whole lines, the next server lists. Output alone is recorded; what a terminal echoes is
 * output. Each runs on a thread of its own. */
#pragma once

#include "terminal/terminal.h"

#define RECORDING_BYTES_MAX ((int64_t)16 * 1024 * 1024)
#define RECORDINGS_AT_ONCE_MAX 64
#define RECORDINGS_MAX 1000 /* of a project */
#define RECORDING_ID_MAX 80

/* Fine when it is being recorded already. ERROR_UNSUPPORTED without a blob store. */
MUST_CHECK int terminal_record(const struct terminal_at *at, const char *project_id,
                               const struct terminal_window *window, struct error *err);
/* At the server's start: publishes what one that was killed has left. */
void terminals_recover(struct terminals *t);
/* Ends all recordings in order. No calls of `t` but terminals_free are made after it; before the
 * provider and the blob store close. */
void terminals_stop(struct terminals *t);

struct terminal_recording {
	const char *id, *sandbox;
	int64_t process, size, started_at;
};
struct terminal_recordings {
	struct terminal_recording *items; /* by sandbox, then by time */
	size_t count;
};
MUST_CHECK int terminal_recordings_list(struct terminals *t, struct arena *a,
                                        const char *project_id, struct terminal_recordings *ret,
                                        struct error *err);
/* See blob_get. */
MUST_CHECK int terminal_recording_open(struct terminals *t, const char *project_id, const char *id,
                                       int *ret_fd, int64_t *ret_size, struct error *err);
MUST_CHECK int terminal_recording_delete(struct terminals *t, const char *project_id,
                                         const char *id, struct error *err);
