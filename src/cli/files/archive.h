/* SPDX-License-Identifier: Apache-2.0 */
/* cli/files/archive.h — folders as tar streams.
 *
 * Unpacked archives come from sandboxes: names may not leave the target, links inside it are never
 * followed, only files, folders and symbolic links are made, and set-id bits are dropped. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/* Writes the contents of the folder `path`, with names relative to it. */
MUST_CHECK int archive_pack(const char *path, int out_fd, struct error *err);
/* Chosen files below an open folder, with their names in the archive. */
struct archive_item {
	const char *path, *name;
	const char *link; /* of a symbolic link */
	mode_t mode;      /* type and permissions */
	int64_t size, modified_s;
};
struct archive_items {
	const struct archive_item *items;
	size_t count;
	int folder;
};
/* Fails if a file is shorter than its item's size. */
MUST_CHECK int archive_pack_items(const struct archive_items *items, int out_fd, struct error *err);
/* Receives the regular files of a tar stream. The receiver must check their names. */
struct archive_taker {
	/* Begins a file; *ret_fd -1 skips it. */
	int (*begin)(void *context, const char *name, int64_t size, int *ret_fd, struct error *err);
	/* All bytes of the file were written. */
	int (*end)(void *context, struct error *err);
	void *context;
};
MUST_CHECK int archive_take(int in_fd, const struct archive_taker *taker, struct error *err);
/* Unpacks into the existing folder `path`. */
MUST_CHECK int archive_unpack(int in_fd, const char *path, struct error *err);

/* A thread that packs or unpacks at one end of a pipe; a request uses the other end. */
struct archive_thread {
	int (*run)(void *context, int fd, struct error *err);
	void *context;
	bool reads; /* the thread unpacks */
	int fd, other_fd;
	pthread_t thread;
	int result;
	struct error err;
};
MUST_CHECK int archive_thread_start(struct archive_thread *t, struct error *err);
/* Closes the request's end and waits. Returns `result`, that of the request, unless that is a
 * success and the thread failed. */
MUST_CHECK int archive_thread_end(struct archive_thread *t, int result, struct error *err);
