/* SPDX-License-Identifier: Apache-2.0 */
#include "seal/seal.h"

#include <pthread.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/thread.h"
#include "seal/keys.h"

#define PREFIX "\"sealed."
#define NONCE_SIZE crypto_aead_xchacha20poly1305_ietf_NPUBBYTES
#define TAG_SIZE crypto_aead_xchacha20poly1305_ietf_ABYTES
#define BASE64 sodium_base64_VARIANT_URLSAFE_NO_PADDING

_Static_assert(KEY_BYTES == crypto_aead_xchacha20poly1305_ietf_KEYBYTES, "the cipher's keys");

struct seal {
	char *path;
	pthread_mutex_t mutex;  /* of the other members */
	struct seal_keys *keys; /* locked in memory, excluded from core dumps */
};

int seal_open(const char *path, struct seal **ret, struct error *err)
{
	struct seal *s;

	if (sodium_init() < 0)
		return FAIL(err, ERROR_SYSTEM, "start libsodium");
	s = memory_new(sizeof(*s));
	s->path = memory_text(path);
	s->keys = sodium_malloc(sizeof(*s->keys));
	if (!s->keys)
		abort();
	pthread_mutex_init(&s->mutex, NULL);
	if (keys_make(path, s->keys, err) < 0) {
		seal_close(s);
		return FAIL_CONTEXT(err, "keys of what is sealed");
	}
	*ret = s;
	return 0;
}

void seal_close(struct seal *s)
{
	if (!s)
		return;
	sodium_free(s->keys);
	pthread_mutex_destroy(&s->mutex);
	free(s->path);
	free(s);
}

static bool has_changed(const struct stat *a, const struct stat *b)
{
	return a->st_ino != b->st_ino || a->st_size != b->st_size ||
	       a->st_mtim.tv_sec != b->st_mtim.tv_sec || a->st_mtim.tv_nsec != b->st_mtim.tv_nsec;
}

/* Needs the mutex. Reads the file again if it has changed, because another server may have added a
 * key. Keeps the known keys if the file is missing or malformed. */
static void reload_keys(struct seal *s)
{
	struct error err = {0};
	struct stat now;

	if (stat(s->path, &now) < 0 || !has_changed(&now, &s->keys->seen))
		return;
	if (keys_read(s->path, s->keys, &err) < 0)
		log_warning("the changed key file cannot be read; the known keys stay in use",
		            FAILURE(&err));
}

static bool find_key(struct seal *s, const char *name, struct seal_key *ret)
{
	const struct seal_key *found = NULL;
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&s->mutex);

	for (unsigned tries = 0; tries < 2 && !found; tries++) {
		if (tries > 0)
			reload_keys(s);
		for (size_t i = 0; i < s->keys->count && !found; i++)
			if (strncmp(s->keys->items[i].name, name, KEY_NAME_SIZE) == 0)
				found = &s->keys->items[i];
	}
	if (found)
		*ret = *found;
	return found != NULL;
}

static struct seal_key current_key(struct seal *s)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&s->mutex);

	reload_keys(s);
	return s->keys->items[0];
}

/* Applies `change` to the keys in the file and writes them, one process at a time. */
static int change_keys(struct seal *s, void (*change)(struct seal_keys *keys), struct error *err)
{
	AUTO_CLOSE int lock_fd = -1;
	struct seal_keys keys;
	int result;

	if (keys_lock(s->path, &lock_fd, err) < 0 || keys_read(s->path, &keys, err) < 0)
		return -1;
	change(&keys);
	result = keys_write(s->path, &keys, err);
	if (result == 0) {
		pthread_mutex_lock(&s->mutex);
		*s->keys = keys;
		pthread_mutex_unlock(&s->mutex);
	}
	sodium_memzero(&keys, sizeof(keys));
	return result;
}

static void add_key(struct seal_keys *keys)
{
	if (keys->count == KEYS_MAX)
		return;
	memmove(&keys->items[1], &keys->items[0], keys->count * sizeof(keys->items[0]));
	key_make(&keys->items[0]);
	keys->count++;
}

static void drop_keys(struct seal_keys *keys)
{
	if (keys->count > 2)
		keys->count = 2;
}

int seal_begin_rotation(struct seal *s, int *ret_fd, struct error *err)
{
	return keys_lock_rotation(s->path, ret_fd, err);
}

int seal_add_key(struct seal *s, struct error *err)
{
	char before[KEY_NAME_SIZE + 1];
	struct seal_key key = current_key(s);

	memcpy(before, key.name, sizeof(before));
	if (change_keys(s, add_key, err) < 0)
		return FAIL_CONTEXT(err, "add a key");
	key = current_key(s);
	sodium_memzero(key.bytes, sizeof(key.bytes));
	if (strcmp(before, key.name) != 0)
		return 0;
	(void)FAIL(err, ERROR_LIMIT, "the key file has %d keys already", KEYS_MAX);
	return FAIL_HINT(err,
	                 "earlier rotations did not finish; the log names the values that they "
	                 "could not open");
}

int seal_drop_keys(struct seal *s, struct error *err)
{
	return change_keys(s, drop_keys, err) < 0 ? FAIL_CONTEXT(err, "drop old keys") : 0;
}

bool seal_is_sealed(const char *text)
{
	return strncmp(text, PREFIX, strlen(PREFIX)) == 0;
}

const char *seal_prefix(struct seal *s, struct arena *a)
{
	struct seal_key key = current_key(s);

	sodium_memzero(key.bytes, sizeof(key.bytes));
	return arena_format(a, PREFIX "%s.", key.name);
}

const char *seal_close_text(struct seal *s, struct arena *a, const char *bound, const char *text)
{
	struct seal_key key = current_key(s);
	size_t size = strlen(text), sealed_size = NONCE_SIZE + size + TAG_SIZE;
	unsigned char *sealed = arena_alloc(a, sealed_size);
	size_t room = sodium_base64_encoded_len(sealed_size, BASE64);
	char *base64 = arena_alloc(a, room);

	randombytes_buf(sealed, NONCE_SIZE);
	(void)crypto_aead_xchacha20poly1305_ietf_encrypt(
	        sealed + NONCE_SIZE, NULL, (const unsigned char *)text, size,
	        (const unsigned char *)bound, strlen(bound), NULL, sealed, key.bytes);
	sodium_memzero(key.bytes, sizeof(key.bytes));
	(void)sodium_bin2base64(base64, room, sealed, sealed_size, BASE64);
	return arena_format(a, PREFIX "%s.%s\"", key.name, base64);
}

/* The bytes after the key's name. */
static int decode_sealed(struct arena *a, const char *sealed, unsigned char **ret, size_t *ret_size)
{
	size_t before = strlen(PREFIX) + KEY_NAME_SIZE + 1, size = strlen(sealed);
	const char *base64 = sealed + before, *end;

	if (size < before + 1 || sealed[before - 1] != '.' || sealed[size - 1] != '"')
		return -1;
	*ret = arena_alloc(a, size);
	if (sodium_base642bin(*ret, size, base64, size - before - 1, NULL, ret_size, &end, BASE64) <
	            0 ||
	    end != sealed + size - 1 || *ret_size < NONCE_SIZE + TAG_SIZE)
		return -1;
	return 0;
}

int seal_open_text(struct seal *s, struct arena *a, const char *bound, const char *sealed,
                   const char **ret, struct error *err)
{
	unsigned char *bytes;
	struct seal_key key;
	size_t size;
	char *text;
	int result;

	if (!seal_is_sealed(sealed) || decode_sealed(a, sealed, &bytes, &size) < 0)
		return FAIL(err, ERROR_SYSTEM, "a sealed text was changed");
	if (!find_key(s, sealed + strlen(PREFIX), &key)) {
		(void)FAIL(err, ERROR_UNAVAILABLE, "sealed with the unknown key '%.*s'",
		           KEY_NAME_SIZE, sealed + strlen(PREFIX));
		return FAIL_HINT(
		        err,
		        "servers that share a database must share the file of secret_key_file");
	}
	text = arena_alloc(a, size - NONCE_SIZE - TAG_SIZE + 1);
	result = crypto_aead_xchacha20poly1305_ietf_decrypt(
	        (unsigned char *)text, NULL, NULL, bytes + NONCE_SIZE, size - NONCE_SIZE,
	        (const unsigned char *)bound, strlen(bound), bytes, key.bytes);
	sodium_memzero(key.bytes, sizeof(key.bytes));
	if (result < 0)
		return FAIL(err, ERROR_SYSTEM, "a sealed text was changed, or moved from its row");
	*ret = text;
	return 0;
}

void seal_fingerprint(const unsigned char key[SEAL_FINGERPRINT_KEY_SIZE], const char *bound,
                      const char *text, char ret[SEAL_FINGERPRINT_SIZE + 1])
{
	crypto_auth_hmacsha256_state state;
	unsigned char mac[crypto_auth_hmacsha256_BYTES];

	(void)crypto_auth_hmacsha256_init(&state, key, SEAL_FINGERPRINT_KEY_SIZE);
	(void)crypto_auth_hmacsha256_update(&state, (const unsigned char *)bound,
	                                    strlen(bound) + 1);
	(void)crypto_auth_hmacsha256_update(&state, (const unsigned char *)text, strlen(text));
	(void)crypto_auth_hmacsha256_final(&state, mac);
	(void)sodium_bin2hex(ret, SEAL_FINGERPRINT_SIZE + 1, mac, SEAL_FINGERPRINT_SIZE / 2);
	sodium_memzero(&state, sizeof(state));
}
