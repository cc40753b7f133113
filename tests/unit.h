/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit.h — cmocka with names that are sentences:
 *
 *   TEST(a_full_buffer_refuses_more) { … }
 *   int main(void) { return RUN(CASE(a_full_buffer_refuses_more), …); } */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

/* ASan's allocator has its address space from the start: RLIMIT_AS limits nothing there. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define UNIT_WITH_ASAN 1
#endif
#endif
#if !defined(UNIT_WITH_ASAN) && defined(__SANITIZE_ADDRESS__)
#define UNIT_WITH_ASAN 1
#elif !defined(UNIT_WITH_ASAN)
#define UNIT_WITH_ASAN 0
#endif

/* Processor time of this thread: other programs of a test run take none of it. */
static inline int64_t unit_cpu_ms(void)
{
	struct timespec spent;

	assert_int_equal(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent), 0);
	return spent.tv_sec * INT64_C(1000) + spent.tv_nsec / 1000000;
}

/* A folder of a test's own, named atoll-NAME-…, in memory where that can be had: a database that
 * syncs every commit to a disk takes twenty times as long and shows no more. */
static inline void unit_folder(char *path, size_t size, const char *name)
{
	(void)snprintf(path, size, "%s/atoll-%s-XXXXXX",
	               access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp", name);
	assert_non_null(mkdtemp(path));
}

/* Removes what unit_folder() made, with everything in it. */
static inline void unit_remove_folder(const char *path)
{
	DIR *folder = opendir(path);
	char below[512];

	assert_non_null(folder);
	for (const struct dirent *entry; (entry = readdir(folder));) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
		    unlinkat(dirfd(folder), entry->d_name, 0) == 0)
			continue;
		(void)snprintf(below, sizeof(below), "%.250s/%s", path, entry->d_name);
		unit_remove_folder(below);
	}
	closedir(folder);
	assert_int_equal(rmdir(path), 0);
}

/* `to` is a new file. */
static inline void unit_copy_file(const char *from, const char *to)
{
	int in = open(from, O_RDONLY | O_CLOEXEC),
	    out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	struct stat status;

	assert_int_equal(fstat(in, &status), 0);
	assert_int_equal(sendfile(out, in, NULL, (size_t)status.st_size), status.st_size);
	close(in);
	close(out);
}

#define TEST(name) static void name(void **state __attribute__((unused)))
#define CASE(name) cmocka_unit_test(name)
#define RUN(...) cmocka_run_group_tests(((const struct CMUnitTest[]){__VA_ARGS__}), NULL, NULL)

/* The environment variable UNIT_CASE names the only case to run; "*" and "?" are wildcards. */
__attribute__((constructor)) static void unit_choose_case(void)
{
	const char *name = getenv("UNIT_CASE");

	if (name && name[0])
		cmocka_set_test_filter(name);
}
