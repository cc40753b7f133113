/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "task/measure.h"
#include "task/remove.h"
#include "unit.h"
#include "wire/task.h"

#define KIB UINT64_C(1024)
#define FILE_KIB 64
#define SLACK_KIB 16 /* a filesystem's own, of folders and last blocks */

struct place {
	char path[32];
	int fd;
};

static int open_place(void **state)
{
	struct place *p = test_malloc(sizeof(*p));

	*p = (struct place){.path = "/tmp/atoll-measure.XXXXXX"};
	if (!mkdtemp(p->path))
		return -1;
	p->fd = open(p->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*state = p;
	return p->fd < 0 || mkdirat(p->fd, "it", 0755) < 0 ? -1 : 0;
}

static int close_place(void **state)
{
	struct place *p = *state;
	struct error err = {0};
	int result = remove_tree(AT_FDCWD, p->path, &err);

	fd_forget(&p->fd);
	test_free(p);
	return result;
}

static void write_file(int folder, const char *name)
{
	char block[4 * KIB];
	int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	memset(block, 'x', sizeof(block));
	assert_true(fd >= 0);
	for (unsigned i = 0; i < FILE_KIB * KIB / sizeof(block); i++)
		assert_int_equal(write(fd, block, sizeof(block)), sizeof(block));
	assert_int_equal(fsync(fd), 0);
	assert_int_equal(close(fd), 0);
}

static struct task_result measure(struct place *p)
{
	struct task_result ret;
	struct error err = {0};

	if (measure_tree(p->fd, "it", DEADLINE_NEVER, &ret, &err) < 0)
		fail_msg("%s", err.text);
	return ret;
}

static void files_of_all_folders_are_counted(void **state)
{
	struct place *p = *state;
	struct task_result m;

	assert_int_equal(mkdirat(p->fd, "it/a", 0755), 0);
	assert_int_equal(mkdirat(p->fd, "it/a/b", 0755), 0);
	write_file(p->fd, "it/one");
	write_file(p->fd, "it/a/b/two");
	m = measure(p);
	assert_false(m.is_partial);
	assert_in_range(m.bytes, 2 * FILE_KIB * KIB, (2 * FILE_KIB + 2 * SLACK_KIB) * KIB);
}

static void no_link_is_followed(void **state)
{
	struct place *p = *state;
	struct task_result m;

	write_file(p->fd, "outside");
	assert_int_equal(symlinkat("/", p->fd, "it/root"), 0);
	assert_int_equal(symlinkat("../outside", p->fd, "it/file"), 0);
	assert_int_equal(symlinkat(".", p->fd, "it/again"), 0);
	m = measure(p);
	assert_false(m.is_partial);
	assert_in_range(m.bytes, 0, SLACK_KIB * KIB);
}

static void a_file_with_several_names_counts_once(void **state)
{
	struct place *p = *state;
	char name[32];

	write_file(p->fd, "it/f0");
	for (unsigned i = 1; i < 8; i++) {
		(void)snprintf(name, sizeof(name), "it/f%u", i);
		assert_int_equal(linkat(p->fd, "it/f0", p->fd, name, 0), 0);
	}
	assert_in_range(measure(p).bytes, FILE_KIB * KIB, (FILE_KIB + SLACK_KIB) * KIB);
}

static void a_hole_takes_nothing(void **state)
{
	struct place *p = *state;
	int fd = openat(p->fd, "it/files.img", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)(1024 * KIB * KIB)), 0);
	assert_int_equal(close(fd), 0);
	assert_in_range(measure(p).bytes, 0, SLACK_KIB * KIB);
}

static void what_is_too_deep_is_said_and_the_rest_is_counted(void **state)
{
	struct place *p = *state;
	int at = openat(p->fd, "it", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct task_result m;

	write_file(at, "file");
	for (unsigned i = 0; i < 520; i++) {
		int next;

		assert_int_equal(mkdirat(at, "d", 0755), 0);
		next = openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(next >= 0);
		assert_int_equal(close(at), 0);
		at = next;
	}
	assert_int_equal(close(at), 0);
	m = measure(p);
	assert_true(m.is_partial);
	assert_true(m.bytes >= FILE_KIB * KIB);
}

static void what_is_not_there_is_not_found(void **state)
{
	struct place *p = *state;
	struct error err = {0};
	struct task_result m;

	assert_int_equal(measure_tree(p->fd, "that", DEADLINE_NEVER, &m, &err), -1);
	assert_int_equal(err.code, ERROR_NOT_FOUND);
}

#define EACH(name) cmocka_unit_test_setup_teardown(name, open_place, close_place)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        EACH(files_of_all_folders_are_counted),
	        EACH(no_link_is_followed),
	        EACH(a_file_with_several_names_counts_once),
	        EACH(a_hole_takes_nothing),
	        EACH(what_is_too_deep_is_said_and_the_rest_is_counted),
	        EACH(what_is_not_there_is_not_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
