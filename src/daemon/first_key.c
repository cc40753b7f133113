/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/first_key.h"

#include <string.h>
#include <unistd.h>

#include "account/account.h"
#include "base/clock.h"
#include "base/id.h"
#include "store/keys.h"
#include "store/projects.h"

struct store;

#define PROJECT "default"

static int read_key(int fd, struct account_key *ret, struct error *err)
{
	char text[ACCOUNT_KEY_SIZE + 8];
	/* Reads by offset, because the supervisor shares the descriptor's position. */
	ssize_t size = pread(fd, text, sizeof(text), 0);
	struct span key = {text, size < 0 ? 0 : (size_t)size};

	if (size < 0)
		return FAIL_ERRNO(err, "read 'admin.key'");
	while (key.size > 0 && (unsigned char)key.data[key.size - 1] <= ' ')
		key.size--;
	if (account_key_parse(key, ret, err) < 0) {
		(void)FAIL_CONTEXT(err, "admin.key");
		return FAIL_HINT(err, "remove the file: the next start makes a new key");
	}
	return 0;
}

static int ensure_project(struct store *store, struct arena *a, struct error *err)
{
	const struct project_record wanted = {
	        .id = PROJECT,
	        .name = PROJECT,
	        .created_at = clock_unix_ms(),
	};
	struct project_record found;

	if (store_project_find(store, a, PROJECT, &found, err) == 0)
		return 0;
	if (err->code != ERROR_NOT_FOUND)
		return -1;
	if (store_project_insert(store, &wanted, err) < 0 && err->code != ERROR_CONFLICT)
		return -1;
	return 0;
}

int first_key_register(struct store *store, int fd, struct error *err)
{
	AUTO(arena_done) struct arena a = {.blocks = NULL};
	struct key_record record;
	struct account_key key;
	struct id id = id_new();

	if (read_key(fd, &key, err) < 0 || ensure_project(store, &a, err) < 0)
		return -1;
	if (store_key_find_by_hash(store, &a, key.hash, &record, err) == 0)
		return 0;
	if (err->code != ERROR_NOT_FOUND)
		return -1;
	record = (struct key_record){
	        .id = id.text,
	        .project_id = PROJECT,
	        .name = "admin",
	        .prefix = key.prefix,
	        .scopes = SCOPE_ALL,
	        .created_at = clock_unix_ms(),
	};
	memcpy(record.hash, key.hash, sizeof(record.hash));
	return store_key_insert(store, &record, err);
}
