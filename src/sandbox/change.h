/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox/change.h — a changed path of a sandbox, and its form in a patch.
 *
 * Patches have git's format. Names may hold any byte but '/' and NUL; names that could be mistaken
 * for parts of the format are quoted. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

struct buf;

enum change_kind {
	CHANGE_ADDED,
	CHANGE_DELETED,
	CHANGE_MODIFIED,
	CHANGE_ATTRIBUTES, /* only the mode or the owner differs */
	CHANGE_RETYPED,    /* the type differs, such as a folder that became a file */
	CHANGE_KIND_COUNT
};
/* "added" "deleted" "modified" "mode" "type" */
const char *change_kind_name(enum change_kind kind);

struct change_side {
	uint32_t mode; /* with the type bits; 0 = the path does not exist */
	uint32_t uid, gid;
	uint64_t size;    /* of a regular file */
	const char *link; /* target of a symbolic link, or "" */
};
struct sandbox_change {
	const char *path; /* without a leading '/' */
	enum change_kind kind;
	bool is_cut;                 /* a folder so deep that its contents are not listed */
	struct change_side sides[2]; /* before, now */
};
/* "file" "dir" "link" "fifo" "socket" "device"; NULL for mode 0. */
const char *change_type_name(uint32_t mode);

/* Normalizes a path that a user gave: removes '/' at the front and the end, refuses "." and "..".
 * "" means everything. */
MUST_CHECK int change_path_clean(struct arena *a, const char *text, const char **ret,
                                 struct error *err);

/* Appends prefix and path as a name in a patch, quoted if necessary. */
void change_add_name(struct buf *out, const char *prefix, const char *path);
/* The name in a "---" or "+++" line, for diff --label; "/dev/null" if the path does not exist. */
const char *change_label(struct arena *a, const struct sandbox_change *c, unsigned side);
/* Appends "diff --git …" and the lines about modes, or a remark for what a patch cannot express.
 * Returns true if file contents must follow. */
bool change_add_head(struct buf *out, const struct sandbox_change *c);
/* Appends the targets of symbolic links as contents. */
void change_add_links(struct buf *out, struct arena *a, const struct sandbox_change *c);
/* The first words of the line that replaces contents which are binary or too large to compare. */
#define CHANGE_BINARY "Binary files"
#define CHANGE_LARGE "Large files"
/* Lines that a patch adds and deletes. `is_binary`: the patch only says that contents differ. */
struct change_lines {
	uint64_t added, deleted;
	bool is_binary;
};
struct change_lines change_count_lines(struct span patch);
/* Splits a change of type into a deletion and an addition. Returns the number of parts, 1 or 2. */
unsigned change_split(const struct sandbox_change *c, struct sandbox_change ret[2]);
