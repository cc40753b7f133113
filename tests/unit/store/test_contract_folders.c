/* SPDX-License-Identifier: Apache-2.0 */
#include "store/folders.h"

#include "each_store.h"

static const struct folder_record first = {.node = "one",
                                           .pairing = "p",
                                           .generation = 3,
                                           .instance = "i",
                                           .boot = "b",
                                           .place = "/data",
                                           .seen_at = NOW};

static void a_folder_is_found_by_its_node(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct folder_record found;
	struct error err = {0};

	assert_refused(store_folder_find(*state, &a, "one", &found, &err), ERROR_NOT_FOUND);
	assert_done(store_folder_put(*state, &first, &err));
	assert_done(store_folder_find(*state, &a, "one", &found, &err));
	assert_string_equal(found.pairing, "p");
	assert_int_equal(found.generation, 3);
	assert_string_equal(found.place, "/data");
	assert_refused(store_folder_find(*state, &a, "two", &found, &err), ERROR_NOT_FOUND);
}

static void a_beat_is_refused_once_another_process_has_the_folder(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct folder_record mine = first, other = first, found;
	struct error err = {0};

	assert_done(store_folder_put(*state, &first, &err));
	mine.generation = 4;
	assert_done(store_folder_beat(*state, &mine, false, &err));
	other.instance = "j";
	assert_done(store_folder_put(*state, &other, &err));
	assert_refused(store_folder_beat(*state, &mine, true, &err), ERROR_CONFLICT);
	assert_done(store_folder_find(*state, &a, "one", &found, &err));
	assert_int_equal(found.generation, 3);
	assert_string_equal(found.instance, "j");
}

static void a_line_has_node_pairing_and_generation(void **state)
{
	AUTO(buf_done) struct buf line = BUF(64);

	(void)state;
	store_folder_add_line(&first, &line);
	assert_string_equal(buf_text(&line), FOLDER_FORMAT " one p 3\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        EACH(a_folder_is_found_by_its_node),
	        EACH(a_line_has_node_pairing_and_generation),
	        EACH(a_beat_is_refused_once_another_process_has_the_folder),
	};

	return each_store_run(tests, COUNT_OF(tests));
}
