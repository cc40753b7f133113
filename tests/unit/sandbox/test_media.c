/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "sandbox/media.h"

TEST(the_extension_tells_the_media_type)
{
	static const char *const cases[][2] = {
	        {"plot.png", "image/png"},
	        {"out/a.b/REPORT.PDF", "application/pdf"},
	        {"data.tar.gz", "application/gzip"},
	        {"a.csv/none", MEDIA_BYTES},
	        {".csv", MEDIA_BYTES},
	        {"csv", MEDIA_BYTES},
	        {"a.", MEDIA_BYTES},
	        {"", MEDIA_BYTES},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++)
		assert_string_equal(media_type_of_name(cases[i][0]), cases[i][1]);
}

TEST(bytes_are_believed_more_than_names)
{
	static const struct {
		const char *name;
		struct span head;
		const char *media_type;
	} cases[] = {
	        {"a.txt", {"\x89PNG\r\n\x1a\n....", 12}, "image/png"},
	        {"a.png", {"<html>", 6}, "text/plain"},
	        {"a.png", {"\0\1\2", 3}, MEDIA_BYTES},
	        {"a.html", {"<html>", 6}, "text/html"},
	        {"a.docx",
	         {"PK\3\4....", 8},
	         "application/vnd.openxmlformats-officedocument."
	         "wordprocessingml.document"},
	        {"a.docx", {"hello", 5}, "text/plain"},
	        {"a", {"hello", 5}, "text/plain"},
	        {"a", {"\xff\xfe", 2}, MEDIA_BYTES},
	        {"a.webp", {"RIFF....WEBP", 12}, "image/webp"},
	        {"a.csv", {"", 0}, "text/csv"},
	        {"a", {"", 0}, MEDIA_BYTES},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++)
		assert_string_equal(media_type_of(cases[i].name, cases[i].head),
		                    cases[i].media_type);
}

TEST(a_character_may_be_cut_where_the_beginning_ends)
{
	char head[MEDIA_HEAD_SIZE];

	memset(head, 'a', sizeof(head));
	head[sizeof(head) - 1] = (char)0xc3;
	assert_string_equal(media_type_of("a", (struct span){head, sizeof(head)}), "text/plain");
	memcpy(head + sizeof(head) - 3, "\xf0\x9f\x98", 3);
	assert_string_equal(media_type_of("a", (struct span){head, sizeof(head)}), "text/plain");
	assert_string_equal(media_type_of("a", (struct span){head + 1, sizeof(head) - 1}),
	                    MEDIA_BYTES);
}

int main(void)
{
	return RUN(CASE(the_extension_tells_the_media_type),
	           CASE(bytes_are_believed_more_than_names),
	           CASE(a_character_may_be_cut_where_the_beginning_ends));
}
