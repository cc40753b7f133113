/* SPDX-License-Identifier: Apache-2.0 */
#include "store/access.h"

#include <string.h>

#include "base/random.h"
#include "store/secrets.h"
#include "store/column_rows.h"
#include "store/query.h"

struct server_key {
	const char *id, *secret; /* hexadecimal */
};

COLUMNS_OF(server_key);

static const char digits[] = "0123456789abcdef";

static const char *make_key(struct arena *a)
{
	unsigned char bytes[STORE_SERVER_KEY_SIZE];
	char *text = arena_alloc(a, 2 * sizeof(bytes) + 1);

	random_bytes(bytes, sizeof(bytes));
	for (size_t i = 0; i < sizeof(bytes); i++) {
		text[2 * i] = digits[bytes[i] >> 4];
		text[2 * i + 1] = digits[bytes[i] & 15];
	}
	text[2 * sizeof(bytes)] = '\0';
	return text;
}

static bool read_key(const char *text, unsigned char ret[STORE_SERVER_KEY_SIZE])
{
	if (strlen(text) != (size_t)2 * STORE_SERVER_KEY_SIZE ||
	    strspn(text, digits) != (size_t)2 * STORE_SERVER_KEY_SIZE)
		return false;
	for (size_t i = 0; i < STORE_SERVER_KEY_SIZE; i++)
		ret[i] = (unsigned char)((strchr(digits, text[2 * i]) - digits) << 4 |
		                         (strchr(digits, text[2 * i + 1]) - digits));
	return true;
}

struct access {
	struct arena *arena;
	struct server_key key, *ret;
};

static int run_find_or_insert(struct store_connection *c, void *context, struct error *err)
{
	struct access *access = context;

	if (query_run(c, QUERY_SERVER_KEY_INSERT, &access->key, NULL, err) < 0)
		return -1;
	return ROW_OR(query_find(c, QUERY_SERVER_KEY_FIND, LOOKUP(.id = access->key.id),
	                         INTO(access->arena, access->ret), err),
	              FAIL(err, ERROR_SYSTEM, "it is not stored"));
}

int store_server_key(struct store *s, const char *name, unsigned char ret[STORE_SERVER_KEY_SIZE],
                     struct error *err)
{
	AUTO(arena_done) struct arena a = {0};
	struct server_key found;
	struct access access = {&a, {.id = name, .secret = make_key(&a)}, &found};

	if (store_change(s, run_find_or_insert, &access, err) < 0 ||
	    store_secret_check(found.secret, err) < 0)
		return FAIL_CONTEXT(err, "the server's key '%s'", name);
	if (!read_key(found.secret, ret))
		return FAIL(err, ERROR_SYSTEM, "the server's key '%s' is no key", name);
	return 0;
}
