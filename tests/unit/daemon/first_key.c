/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/first_key.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "account/account.h"
#include "base/bytes.h"
#include "store/database.h"
#include "store/keys.h"
#include "unit.h"

static int key_file(const char *text)
{
	int fd = memfd_create("admin.key", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	return fd;
}

TEST(the_key_of_the_file_opens_the_store_however_often_it_is_registered)
{
	AUTO(arena_done) struct arena a = {.blocks = NULL};
	struct account_key key;
	struct key_record record;
	struct store *store;
	struct error err;

	account_key_generate(&key);
	AUTO_CLOSE int fd = key_file(key.text);
	assert_int_equal(store_open("sqlite::memory:", &store, &err), 0);
	assert_int_equal(first_key_register(store, fd, &err), 0);
	assert_int_equal(first_key_register(store, fd, &err), 0);
	assert_int_equal(store_key_find_by_hash(store, &a, key.hash, &record, &err), 0);
	assert_string_equal(record.project_id, "default");
	assert_int_equal(record.scopes, SCOPE_ALL);
	store_close(store);
	/* A new store, the old file: it is registered again. */
	assert_int_equal(store_open("sqlite::memory:", &store, &err), 0);
	assert_int_equal(first_key_register(store, fd, &err), 0);
	assert_int_equal(store_key_find_by_hash(store, &a, key.hash, &record, &err), 0);
	store_close(store);
}

TEST(blank_space_after_the_key_does_not_matter)
{
	AUTO(buf_done) struct buf text = BUF(128);
	struct account_key key;
	struct store *store;
	struct error err;

	account_key_generate(&key);
	buf_addf(&text, "%s \r\n\n", key.text);
	AUTO_CLOSE int fd = key_file(buf_text(&text));
	assert_int_equal(store_open("sqlite::memory:", &store, &err), 0);
	assert_int_equal(first_key_register(store, fd, &err), 0);
	store_close(store);
}

TEST(a_file_that_holds_no_key_is_refused_with_what_to_do)
{
	static const char *const texts[] = {"", "hello\n", "atoll_short"};
	struct store *store;
	struct error err;

	assert_int_equal(store_open("sqlite::memory:", &store, &err), 0);
	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		AUTO_CLOSE int fd = key_file(texts[i]);

		assert_int_equal(first_key_register(store, fd, &err), -1);
		assert_non_null(strstr(err.hint, "remove the file"));
	}
	store_close(store);
}

int main(void)
{
	return RUN(CASE(the_key_of_the_file_opens_the_store_however_often_it_is_registered),
	           CASE(blank_space_after_the_key_does_not_matter),
	           CASE(a_file_that_holds_no_key_is_refused_with_what_to_do));
}
