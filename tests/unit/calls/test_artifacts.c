/* SPDX-License-Identifier: Apache-2.0 */
#include "calls/artifacts.h"

#include "unit.h"
#include "wire/agent_files.h"

TEST(artifacts_are_items_of_a_list_and_only_so_many)
{
	AUTO(buf_done) struct buf out = BUF(ARTIFACTS_SIZE_MAX);
	struct artifacts a;
	struct agent_file file = {.path = "a\"b.txt", .size = 7};

	artifacts_init(&a, "/work", NULL);
	artifacts_write(&a, &file, &out);
	file.path = "c";
	artifacts_write(&a, &file, &out);
	assert_string_equal(
	        buf_text(&out),
	        "{\"path\":\"a\\\"b.txt\",\"size\":7,\"media_type\":\"text/plain\"},"
	        "{\"path\":\"c\",\"size\":7,\"media_type\":\"application/octet-stream\"}");
	for (unsigned i = 2; i < ARTIFACTS_MAX; i++)
		artifacts_write(&a, &file, &out);
	size_t size = out.size;
	artifacts_write(&a, &file, &out);
	assert_int_equal(out.size, size);
	artifacts_done(&a);
	artifacts_done(&a);
}

int main(void)
{
	return RUN(CASE(artifacts_are_items_of_a_list_and_only_so_many));
}
