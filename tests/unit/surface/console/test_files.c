/* SPDX-License-Identifier: Apache-2.0 */
#include "surface/console/files.h"
#include "unit.h"

static const unsigned char bytes[1];
static const struct console_file both = {.start = {bytes, bytes, bytes}};
static const struct console_file zipped = {.start = {bytes, bytes, NULL}};

TEST(the_smallest_accepted_coding_is_chosen)
{
	static const struct {
		const char *accepted;
		enum console_coding coding;
	} cases[] = {
	        {NULL, CONSOLE_PLAIN},
	        {"", CONSOLE_PLAIN},
	        {"gzip", CONSOLE_GZIP},
	        {"gzip, deflate, br", CONSOLE_BROTLI},
	        {"br;q=0.1", CONSOLE_BROTLI},
	        {"GZip ; q=1", CONSOLE_GZIP},
	        {"br;q=0, gzip", CONSOLE_GZIP},
	        {"br; q=0.000,gzip;q=0.0", CONSOLE_PLAIN},
	        {"brotli, x-gzip", CONSOLE_PLAIN},
	        {",,;;q,", CONSOLE_PLAIN},
	        {"*", CONSOLE_PLAIN},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++)
		assert_int_equal(console_choose_coding(&both, cases[i].accepted), cases[i].coding);
	assert_int_equal(console_choose_coding(&zipped, "br, gzip"), CONSOLE_GZIP);
	assert_int_equal(console_choose_coding(&zipped, "br"), CONSOLE_PLAIN);
}

TEST(files_are_found_by_their_whole_path)
{
	assert_null(console_find_file(""));
	assert_null(console_find_file("assets/"));
	assert_null(console_find_file("../index.html"));
	for (size_t i = 0; i < console_file_count; i++) {
		const struct console_file *file = &console_files[i];

		assert_ptr_equal(console_find_file(file->path), file);
		assert_non_null(file->start[CONSOLE_PLAIN]);
		assert_true(file->end[CONSOLE_PLAIN] > file->start[CONSOLE_PLAIN]);
	}
}

int main(void)
{
	return RUN(CASE(the_smallest_accepted_coding_is_chosen),
	           CASE(files_are_found_by_their_whole_path));
}
