/* SPDX-License-Identifier: Apache-2.0 */
/* wire/agent_files.h — the file messages of wire/agent.h, which defines their order. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "wire/wire.h"

/* Whether a file worker, a child with the ids of the named user, serves this enum agent_type. */
bool agent_type_is_of_files(uint16_t type);

enum agent_path_flag {
	AGENT_PATH_BENEATH =
	        1 << 0, /* `path` and `target` are relative to `root` and may not leave it, by
	                   ".." or by a symbolic link */
	AGENT_PATH_PARENTS = 1 << 1,    /* make missing parents */
	AGENT_PATH_RECURSIVE = 1 << 2,  /* REMOVE, COPY, WATCH */
	AGENT_PATH_APPEND = 1 << 3,     /* WRITE; COPY of a file: to the end of the target */
	AGENT_PATH_NO_FOLLOW = 1 << 4,  /* STAT the link itself */
	AGENT_PATH_NO_REPLACE = 1 << 5, /* WRITE, RENAME, COPY fail on an existing target */
	AGENT_PATH_MAY_EXIST =
	        1 << 6, /* MKDIR: an existing folder is fine; REMOVE: a missing one is */
	AGENT_PATH_OWNERS =
	        1 << 7, /* TAR_IN: owners and modes are those of the archive, of folders too */
	AGENT_PATH_IN_PLACE =
	        1 << 9, /* WRITE: truncates and fills the existing file: it keeps its inode */
	AGENT_PATH_ENTRIES = 1 << 10, /* WATCH: an ENTRY precedes the CHANGE of an existing file, as
	                                 for INSPECT with the same `target` */
	AGENT_PATH_IGNORE_CASE = 1 << 11, /* SEARCH */
	AGENT_PATH_NAMES = 1 << 12,       /* TAR_OUT: only the names that the client sends */
	AGENT_PATH_ZIP = 1 << 14,         /* TAR_OUT without names: a ZIP stream instead */
	AGENT_PATH_ADOPT = 1 << 13,       /* MKDIR: an existing folder gets owner and mode, too */
	AGENT_PATH_AT_HOME =
	        1 << 8, /* relative paths and "~" begin at a home folder, also `target` of RENAME
	                   and COPY; replies have absolute paths. `root` names the user of that
	                   home, who also owns what WRITE and MKDIR make; "" = `user` */
};

/* TAR_OUT with AGENT_PATH_NAMES, client DATA*, DATA_END -> READY, DATA*, DONE. The client
 * sends the names, each followed by NUL: relative to the folder, without "..". A folder comes
 * without its contents; a file with several names comes with its bytes each time. Missing or
 * unreadable files and files behind a link are left out. An agent older than this flag sends the
 * whole folder, so the receiver must filter the names. */
#define AGENT_NAMES_MAX 10000
#define AGENT_NAMES_BYTES_MAX (1024 * 1024)

struct agent_path {
	const char *root; /* "" = "/" */
	const char *path;
	const char *target; /* RENAME, COPY: the new path. GLOB: the pattern ("**" crosses folders).
	                       COMPARE, LIST: only paths after this one. TAR_IN: the owner of all
	                       files; "" = `user` */
	const char *user;   /* acts as this user; "" = root; "a|b": the first that exists */
	uint32_t flags;     /* enum agent_path_flag */
	uint32_t mode;      /* of what is made; 0 = 0644 or 0755. TAR_IN: of files, 0 = the
	                       archive's */
	uint32_t depth;     /* LIST: 1 = the folder's own entries; at most 64 */
	uint64_t offset;    /* READ: from; WRITE: at (without it the file is replaced atomically);
	                       LIST: only regular files whose status changed since, unix ms;
	                       TAR_IN: those are not replaced but kept beside, as
	                       NAME.conflict-TIME (0 = all are replaced) */
	uint64_t size_max; /* READ: at most so many bytes (0 = all); WRITE, TAR_IN: refuse more (0 =
	                      no limit); LIST, GLOB: entries at most (0 = 100,000) */
};
extern const struct wire_member agent_path_shape[];

enum agent_file_type {
	AGENT_FILE_OTHER,
	AGENT_FILE_REGULAR,
	AGENT_FILE_FOLDER,
	AGENT_FILE_SYMLINK
};
struct agent_file {
	const char *path; /* as asked for, or relative to the listed folder */
	const char *link; /* target of a symbolic link */
	uint32_t type;    /* enum agent_file_type */
	uint32_t mode;    /* 07777 */
	uint32_t uid, gid;
	uint64_t size;
	int64_t modified_unix_ms;
};
extern const struct wire_member agent_file_shape[];

enum agent_change_kind {
	AGENT_CREATED,
	AGENT_MODIFIED,
	AGENT_REMOVED,
	AGENT_RENAMED,
	AGENT_CHMODDED,
	AGENT_LOST
};
struct agent_change {
	uint32_t kind; /* AGENT_LOST: the kernel's queue overflowed, look again */
	uint32_t type; /* enum agent_file_type */
	const char *path;
};
extern const struct wire_member agent_change_shape[];

/* INSPECT: everything about `path`, which may be a link; with a `depth`, about the entries of that
 * folder, as LIST. `target`: prefix of the extended attributes to report; "" = none.
 * SET_ATTRIBUTES: `target` is such a prefix, which begins with "user.", and then lines
 * "name=value". They replace all attributes with that prefix. */
#define AGENT_ATTRIBUTES_MAX 128
#define AGENT_ATTRIBUTES_BYTES_MAX 4096 /* of the names and values of one file together */
struct agent_entry {
	const char *path;              /* as asked for, and below it */
	const char *link;              /* final target of a symbolic link; "" = none */
	uint32_t type;                 /* enum agent_file_type */
	uint32_t mode;                 /* 07777 */
	uint32_t link_type, link_mode; /* of the target */
	uint64_t size;
	int64_t modified_s;
	uint32_t modified_ns;
	const char *owner, *group; /* names; numbers when they have none */
	const char **attributes;   /* "name=value", the name without what was asked for */
};
extern const struct wire_member agent_entry_shape[];

/* SEARCH: lines of the file `path`, or of those in the folder, that a POSIX extended expression
 * matches. `target` is a glob for the names of files ("" = all), a line feed, and the expression;
 * `mode` selects the output; `depth` and `offset` are the lines of context before and after a
 * match. DATA is what grep -rHZIE prints: PATH NUL LINE ':' TEXT, with '-' for a line of context
 * and "--" for a gap; PATH NUL; or PATH NUL COUNT. */
enum agent_search_mode {
	AGENT_SEARCH_FILES,
	AGENT_SEARCH_CONTENT,
	AGENT_SEARCH_COUNT,
	AGENT_SEARCH_MODE_COUNT
};

/* COMPARE and TAR_BASE: two trees, `base` and `now` in the folder `root`, each a merged view of
 * layers. `over0` and `over1`, which may be missing, hold the layers that only one of them has:
 * only entries in those layers, or in folders of them, can differ. Differences come in path order,
 * a folder before its contents, `size_max` at most. */
#define AGENT_TREE_BASE "base"
#define AGENT_TREE_NOW "now"
#define AGENT_TREE_OVER_0 "over0"
#define AGENT_TREE_OVER_1 "over1"
enum agent_difference_kind {
	AGENT_ADDED,
	AGENT_DELETED,
	AGENT_CONTENT,    /* of a file, a link, a device; its attributes may differ, too */
	AGENT_ATTRIBUTES, /* mode or owner alone */
	AGENT_RETYPED,    /* another file type: a folder became a file … */
	AGENT_DIFFERENCE_KIND_COUNT
};
enum agent_difference_flag {
	AGENT_IS_CUT = 1 << 0, /* a folder too deep down: its contents are not compared */
};
/* [0] in the base, [1] now; zeros and "" where the entry does not exist. */
struct agent_difference {
	const char *path;
	uint32_t kind, flags;
	uint32_t type[2]; /* enum agent_file_type */
	uint32_t mode[2]; /* with the type's bits */
	uint32_t uid[2], gid[2];
	uint64_t size[2];
	const char *link[2];
};
extern const struct wire_member agent_difference_shape[];
