/* SPDX-License-Identifier: Apache-2.0 */
/* cli/template/context.h — the folder that copy steps take their files from.
 *
 * It is scanned once, without the files that .atollignore (or else .dockerignore) excludes. Nothing
 * outside the folder is read; symbolic links are copied as links. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "cli/files/archive.h"

#define CONTEXT_HASH_SIZE 64 /* hexadecimal digits */

struct context_entry {
	const char *path; /* relative to the context */
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
void context_close(struct context *c); /* zeroed is allowed */

/* Selects the files that a copy step copies, with Docker's rules. Sources may have patterns with *,
 * ? and []. A folder's contents, several sources, or a target that ends in '/' go into the folder
 * `target`; a single file becomes the target. */
struct context_files {
	const char *path;           /* the folder that receives the files */
	struct archive_item *items; /* by name */
	size_t count, capacity;
};
MUST_CHECK int context_select(struct context *c, const char *const *sources, const char *target,
                              struct context_files *ret, struct error *err);
/* Hashes names, modes, links and bytes, but not times and owners. */
MUST_CHECK int context_hash(const struct context *c, const struct context_files *files,
                            char ret[CONTEXT_HASH_SIZE + 1], struct error *err);

/* Pure. Applies the rules of an ignore file to a path; the last matching rule decides. */
bool ignore_matches(const char *rules, const char *path);
