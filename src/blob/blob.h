/* SPDX-License-Identifier: Apache-2.0 */
/* blob/blob.h — named runs of bytes in a place that outlives this server: a folder now, an object
 * store later. Any thread; calls may block as long as the place takes.
 *
 * A blob is there whole or not at all, and never changes: a name is written once. Nothing is
 * renamed, and what is written is never read before it is complete, so that an object store can do
 * all of it (put: multipart, completed last and only if the name is free). Bytes come and go
 * through descriptors: whoever makes them, a child of the broker for one, needs to know nothing of
 * the place. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

#define BLOB_NAME_MAX 200
#define BLOB_SIZE_MAX (INT64_C(1) << 40)
#define BLOB_READERS_MAX 32

/* Parts of [a-z0-9._-] with '/' between them, none beginning with '.'; at most four. */
MUST_CHECK int blob_name_check(const char *name, struct error *err);

struct blob_store;
/* `place`: the absolute path of a folder that is there. */
MUST_CHECK int blob_open(const char *place, struct blob_store **ret, struct error *err);
void blob_close(struct blob_store *store); /* NULL is fine; readers go on by themselves */

struct blob_put {
	const char *name;
	int64_t size_max;  /* 1..BLOB_SIZE_MAX; more fails the commit */
	int64_t size_hint; /* refused at once when there is no room for it; 0 = not known */
};
struct blob_writer;
/* ERROR_CONFLICT when the name exists. */
MUST_CHECK int blob_put(struct blob_store *store, const struct blob_put *put,
                        struct blob_writer **ret, struct error *err);
/* Where the bytes are to be written, by anybody, from the start and in order. The writer's. */
int blob_writer_fd(const struct blob_writer *w);
/* They are all there: returns when the blob exists and is on the disk. The writer is gone after it,
 * also when it fails, and then nothing is left. */
MUST_CHECK int blob_commit(struct blob_writer *w, int64_t *ret_size, struct error *err);
void blob_abort(struct blob_writer *w); /* NULL is fine */

struct blob_range {
	int64_t offset, size; /* size -1 = to the end */
};
/* A pipe that the bytes come from; it ends after the last one, or early when they cannot be read:
 * the caller knows their number. ERROR_LIMIT when BLOB_READERS_MAX are being read. */
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
	const char *prefix; /* whole parts: "backups/" ; "" = all */
	const char *after;  /* next_after of the page before, or NULL */
	unsigned limit;     /* 1..1000 */
};
MUST_CHECK int blob_list(struct blob_store *store, struct arena *a,
                         const struct blob_filter *filter, struct blob_list *ret,
                         struct error *err);
/* Fine when there is none. */
MUST_CHECK int blob_delete(struct blob_store *store, const char *name, struct error *err);

/* ---- what a place does; names are checked, sizes are in bounds ---- */

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
	int (*open)(const char *place, struct blob_store **ret, struct error *err);
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
};
