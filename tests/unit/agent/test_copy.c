/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's program copies itself, as an init container of a pod has it do. */
#include "box.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/fd.h"

TEST(the_copy_is_the_whole_program_and_can_be_executed)
{
	struct box b = box_start(BOX_PLAIN);
	AUTO(buf_done) struct buf own = BUF(64 << 20), copy = BUF(64 << 20);
	const char *path = box_path(&b, "agent");
	struct error err = {0};
	struct stat info;

	box_put(&b, "agent", "an older agent");
	assert_int_equal(agent_copy_self(path, &err), 0);
	assert_int_equal(file_read(AT_FDCWD, "/proc/self/exe", &own, &err), 0);
	assert_int_equal(file_read(AT_FDCWD, path, &copy, &err), 0);
	assert_int_equal(own.size, copy.size);
	assert_memory_equal(own.data, copy.data, own.size);
	assert_int_equal(stat(path, &info), 0);
	assert_int_equal(info.st_mode & 07777, 0755);
	assert_int_equal(box_count_entries(&b, "."), 1);
	box_end(&b);
}

TEST(a_folder_that_is_missing_is_named)
{
	struct error err = {0};

	assert_int_equal(agent_copy_self("/nonexistent/agent", &err), -1);
	assert_non_null(strstr(err.text, "copy the agent to '/nonexistent/agent'"));
	assert_int_equal(err.code, ERROR_NOT_FOUND);
}

int main(void)
{
	return RUN(CASE(the_copy_is_the_whole_program_and_can_be_executed),
	           CASE(a_folder_that_is_missing_is_named));
}
