/* SPDX-License-Identifier: Apache-2.0 */
/* seal/keys.h — the file of keys. Private to this folder. */
#pragma once

#include <stddef.h>
#include <sys/stat.h>

#include "base/error.h"

#define KEY_NAME_SIZE 8
#define KEY_BYTES 32
#define KEYS_MAX 8

struct seal_key {
	char name[KEY_NAME_SIZE + 1];
	unsigned char bytes[KEY_BYTES];
};
struct seal_keys {
	struct seal_key items[KEYS_MAX]; /* the one in use first */
	size_t count;
	struct stat seen; /* of the file that they are from */
};

void key_make(struct seal_key *ret);
MUST_CHECK int keys_read(const char *path, struct seal_keys *ret, struct error *err);
/* The file is old or new, never half. */
MUST_CHECK int keys_write(const char *path, struct seal_keys *keys, struct error *err);
/* Reads the file, or makes it, whoever else does so at this moment. */
MUST_CHECK int keys_make(const char *path, struct seal_keys *ret, struct error *err);
/* Only one process changes the file at a time; *ret_fd is to be closed. */
MUST_CHECK int keys_lock(const char *path, int *ret_fd, struct error *err);
/* The same for the whole of a rotation, without waiting. */
MUST_CHECK int keys_lock_rotation(const char *path, int *ret_fd, struct error *err);
