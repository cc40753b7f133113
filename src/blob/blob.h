/* SPDX-License-Identifier: Apache-2.0 */
/* blob/blob.h — blobs: named byte sequences that outlive this server, in a folder now, in object
 * stores later. Any thread may call; calls block as long as the storage takes.
 *
 * A blob is complete or does not exist, and it never changes: a name is written once. No blob is
 * renamed or read before it is complete, so that an object store can offer the same (put: a
 * multipart upload that completes only if the name is free). Bytes pass through descriptors, so
 * that their producer, for example a child of the broker, needs no knowledge of the storage. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

#define BLOB_NAME_MAX 200
#define BLOB_SIZE_MAX (INT64_C(1) << 40)
#define BLOB_READERS_MAX 32

/* At most four parts of [a-z0-9._-], separated by '/', none beginning with '.'. */
MUST_CHECK int blob_name_check(const char *name, struct error *err);

struct blob_store;
/* `location`: the absolute path of an existing folder. */
MUST_CHECK int blob_open(const char *location, struct blob_store **ret, struct error *err);
void blob_close(struct blob_store *store); /* may be NULL; running readers are not affected */

struct blob_put {
	const char *name;
	int64_t size_max;  /* 1 to BLOB_SIZE_MAX; a commit of more bytes fails */
	int64_t size_hint; /* blob_put fails if this does not fit; 0 = unknown */
};
struct blob_writer;
/* Begins a blob. ERROR_CONFLICT if the name exists. */
MUST_CHECK int blob_put(struct blob_store *store, const struct blob_put *put,
                        struct blob_writer **ret, struct error *err);
/* The bytes are written here in order, by any process. The writer owns the descriptor. */
int blob_writer_fd(const struct blob_writer *w);
/* Completes the blob: returns when it is on the disk. Frees the writer, also on failure, and then
 * leaves nothing behind. */
MUST_CHECK int blob_commit(struct blob_writer *w, int64_t *ret_size, struct error *err);
void blob_abort(struct blob_writer *w); /* may be NULL */

struct blob_range {
	int64_t offset, size; /* size -1 = to the end */
};
/* Opens a pipe with the bytes. It ends after the last byte, or early on a read error: the caller
 * compares the number. ERROR_LIMIT if BLOB_READERS_MAX pipes are open. */
MUST_CHECK int blob_get(struct blob_store *store, const char *name, struct blob_range range,
                        int *ret_fd, int64_t *ret_size, struct error *err);

struct blob_stat {
	const char *name; /* in the arena */
	int64_t size, changed_at;
};
MUST_CHECK int blob_stat(struct blob_store *store, const char *name, struct blob_stat *ret,
                         struct error *err);
struct blob_list {
	struct blob_stat *items; /* by name */
	size_t count;
	const char *next_after; /* NULL at the end */
};
struct blob_filter {
	const char *prefix; /* whole parts such as "backups/"; "" = all */
	const char *after;  /* next_after of the previous page, or NULL */
	unsigned limit;     /* 1..1000 */
};
MUST_CHECK int blob_list(struct blob_store *store, struct arena *a,
                         const struct blob_filter *filter, struct blob_list *ret,
                         struct error *err);
/* Succeeds if there is no such blob. */
MUST_CHECK int blob_delete(struct blob_store *store, const char *name, struct error *err);

/* Removes what writers that were killed have left. Now and then. */
void blob_tidy(struct blob_store *store);

/* implementations: names are checked, sizes are in bounds */

struct blob_store {
	const struct blob_ops *ops;
};
struct blob_writer {
	struct blob_store *store;
	int fd;
	int64_t size_max;
};
struct blob_ops {
	const char *name;
	int (*open)(const char *location, struct blob_store **ret, struct error *err);
	void (*close)(struct blob_store *store);
	int (*put)(struct blob_store *store, const struct blob_put *put, struct blob_writer **ret,
	           struct error *err);
	int (*commit)(struct blob_writer *w, int64_t *ret_size, struct error *err);
	void (*abort)(struct blob_writer *w);
	int (*get)(struct blob_store *store, const char *name, struct blob_range range, int *ret_fd,
	           int64_t *ret_size, struct error *err);
	int (*stat)(struct blob_store *store, const char *name, struct blob_stat *ret,
	            struct error *err);
	int (*list)(struct blob_store *store, struct arena *a, const struct blob_filter *filter,
	            struct blob_list *ret, struct error *err);
	int (*remove)(struct blob_store *store, const char *name, struct error *err);
	void (*tidy)(struct blob_store *store);
};
