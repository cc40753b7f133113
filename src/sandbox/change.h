/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox/change.h — a path of a sandbox that is not as it was, and how a patch tells of it.
 *
 * Patches have the form that git reads. Names may hold any byte but '/' and NUL: what could be
 * mistaken for the form itself is quoted. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/span.h"

enum change_kind {
	CHANGE_ADDED,
	CHANGE_DELETED,
	CHANGE_MODIFIED,
	CHANGE_ATTRIBUTES, /* mode or owner alone */
	CHANGE_RETYPED,    /* what was a folder is a file … */
	CHANGE_KIND_COUNT
};
/* "added" "deleted" "modified" "mode" "type" */
const char *change_kind_name(enum change_kind kind);
/* As "git diff --name-status" has it. */
char change_kind_letter(enum change_kind kind);

struct change_side {
	uint32_t mode; /* with the bits of its type; 0 = it is not there */
	uint32_t uid, gid;
	uint64_t size;    /* of a file */
	const char *link; /* target of a symbolic link, or "" */
};
struct sandbox_change {
	const char *path; /* without '/' in front */
	enum change_kind kind;
	bool is_cut;                 /* a folder that is too deep down to tell what it holds */
	struct change_side sides[2]; /* before, now */
};
/* "file" "dir" "link" "fifo" "socket" "device"; NULL for mode 0. */
const char *change_type_name(uint32_t mode);

/* What a user says to a path: "/" in front and at the end are taken away, "." and ".." refused.
 * "" = all there is. */
MUST_CHECK int change_path_clean(struct arena *a, const char *text, const char **ret,
                                 struct error *err);

/* A name in a patch: prefix and path, in quotes when it needs them. */
void change_add_name(struct buf *out, const char *prefix, const char *path);
/* Of "---" and "+++" lines, for diff --label; "/dev/null" when it is not there. */
const char *change_label(struct arena *a, const struct sandbox_change *c, unsigned side);
/* "diff --git …" and the lines about modes; for what a patch cannot tell, a line that says so. True
 * when the contents of files are to follow. */
bool change_add_head(struct buf *out, const struct sandbox_change *c);
/* The contents of links, which are their targets. */
void change_add_links(struct buf *out, struct arena *a, const struct sandbox_change *c);
/* How a line begins that stands for contents which are no text, or too large to be compared. */
#define CHANGE_BINARY "Binary files"
#define CHANGE_LARGE "Large files"
/* Lines that a patch adds and takes away; `is_binary`: it only says that contents differ. */
struct change_lines {
	uint64_t added, deleted;
	bool is_binary;
};
struct change_lines change_count_lines(struct span patch);
/* A change of type is told as two: what was is deleted, what is is added. 1 or 2. */
unsigned change_split(const struct sandbox_change *c, struct sandbox_change ret[2]);
