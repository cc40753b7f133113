/* SPDX-License-Identifier: Apache-2.0 */
/* seal/keys.h — the file that holds the keys. */
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
	struct seal_key items[KEYS_MAX]; /* the current key first */
	size_t count;
	struct stat seen; /* the file's status when the keys were read */
};

void key_make(struct seal_key *ret);
MUST_CHECK int keys_read(const char *path, struct seal_keys *ret, struct error *err);
/* Replaces the file atomically. */
MUST_CHECK int keys_write(const char *path, struct seal_keys *keys, struct error *err);
/* Reads the file, or creates it; safe while other processes do the same. */
MUST_CHECK int keys_make(const char *path, struct seal_keys *ret, struct error *err);
/* Waits for the lock that lets one process change the file. The caller closes *ret_fd. */
MUST_CHECK int keys_lock(const char *path, int *ret_fd, struct error *err);
/* Takes the lock for a whole rotation without waiting. */
MUST_CHECK int keys_lock_rotation(const char *path, int *ret_fd, struct error *err);
