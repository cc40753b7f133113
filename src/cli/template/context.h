/* SPDX-License-Identifier: Apache-2.0 */
/* cli/template/context.h — the folder that copy steps take their files from. Private to this
 * folder.
 *
 * It is looked through once: what .atollignore (or, without one, .dockerignore) excludes is not
 * there. Nothing outside of it is ever read; symbolic links are copied as links. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/error.h"
#include "cli/files/archive.h"

#define CONTEXT_HASH_SIZE 64 /* hexadecimal digits */

struct context_entry {
	const char *path; /* below the context */
	const char *link; /* of a symbolic link */
	mode_t mode;
	int64_t size, modified_s;
};
struct context {
	struct arena arena;
	int fd;
	struct context_entry *entries; /* by path */
	size_t count, capacity;
};
MUST_CHECK int context_open(struct context *c, const char *path, struct error *err);
void context_close(struct context *c); /* zeroed is fine */

/* What a copy step of these sources (patterns with *, ? and [] are fine) to this target copies, as
 * Docker has it: a folder's content; several, or one with a '/' at the end of the target, into the
 * folder; a single file becomes the target. */
struct context_files {
	const char *path;           /* the folder that they go to */
	struct archive_item *items; /* by name */
	size_t count, capacity;
};
MUST_CHECK int context_select(struct context *c, const char *const *sources, const char *target,
                              struct context_files *ret, struct error *err);
/* Of names, modes, links and bytes; times and owners are nobody's business. */
MUST_CHECK int context_hash(const struct context *c, const struct context_files *files,
                            char ret[CONTEXT_HASH_SIZE + 1], struct error *err);

/* Pure: the rules of an ignore file over a path; the last that fits decides. */
bool ignore_matches(const char *rules, const char *path);
