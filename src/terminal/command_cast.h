/* SPDX-License-Identifier: Apache-2.0 */
/* terminal/command_cast.h — records the output of one command as asciicast, into the same list as
 * the recordings of windows (terminal/recording.h).
 *
 * The lines stay in memory until the command has ended, COMMAND_CAST_BYTES_MAX at most; then a
 * worker stores them. A server that is killed meanwhile loses them. stdout and stderr are one
 * stream, as on a terminal. The caller sees to it that one thread at a time uses a cast. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

struct command_cast;
struct terminals;

#define COMMAND_CAST_BYTES_MAX ((size_t)1024 * 1024)
#define COMMAND_CASTS_MAX 64 /* at once */
#define COMMAND_CASTS_OF_PROJECT_MAX 32

struct command_cast_options {
	const char *project_id, *sandbox_id, *title; /* copied; a long title is cut */
	const char *who;                             /* user or key; NULL = not known */
	uint32_t rows, columns;
};
/* Reads the blob store, so it blocks. ERROR_UNSUPPORTED without a blob store, ERROR_LIMIT when the
 * project has RECORDINGS_MAX recordings, or when so many commands, of the project or of all, are
 * being recorded. */
MUST_CHECK int command_cast_new(struct terminals *t, const struct command_cast_options *options,
                                struct command_cast **ret, struct error *err);
void command_cast_free(struct command_cast *c); /* NULL is fine */
/* Further bytes beyond the limit are missing; a marker says so. */
void command_cast_add(struct command_cast *c, struct span bytes);
/* The recording's id, which the server makes; the cast keeps it. */
const char *command_cast_id(const struct command_cast *c);
/* The number of the command's process, for lists. */
void command_cast_started(struct command_cast *c, uint64_t process);
/* Stores the recording. Blocks for the disk. Nothing is added after it. */
MUST_CHECK int command_cast_store(struct command_cast *c, struct error *err);
