/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/core/local.h"

static struct arena arena;
static struct error err;
static char folder[] = "/tmp/atoll-local-XXXXXX";

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) && setenv("ATOLL_DATA", folder, 1) == 0 ? 0 : -1;
}

static int remove_folder(void **state)
{
	static const char *const names[] = {"run/api.sock", "run/start.lock", "run",
	                                    "log",          "admin.key",      ""};
	char path[256];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		(void)remove(path);
	}
	arena_done(&arena);
	return 0;
}

TEST(the_data_folder_may_be_named)
{
	const char *found;

	assert_int_equal(local_data_dir(&arena, &found, &err), 0);
	assert_string_equal(found, folder);
	assert_int_equal(unsetenv("ATOLL_DATA"), 0);
	assert_int_equal(local_data_dir(&arena, &found, &err), 0);
	assert_int_equal(found[0], '/');
	assert_int_equal(setenv("ATOLL_DATA", folder, 1), 0);
}

TEST(a_path_too_long_for_a_socket_is_refused)
{
	struct local_server server;
	char long_path[200];

	memset(long_path, 'a', sizeof(long_path));
	long_path[0] = '/';
	long_path[sizeof(long_path) - 1] = '\0';
	assert_int_equal(setenv("ATOLL_DATA", long_path, 1), 0);
	assert_int_equal(local_server_find(&arena, &server, &err), -1);
	assert_non_null(strstr(err.hint, "ATOLL_DATA"));
	assert_int_equal(setenv("ATOLL_DATA", folder, 1), 0);
}

TEST(without_the_program_the_start_fails_and_says_so)
{
	struct local_server server;

	assert_int_equal(local_server_find(&arena, &server, &err), 0);
	assert_false(local_server_answers(&server));
	/* atolld is not beside a test program. */
	assert_int_equal(local_server_start(&arena, &server, &err), -1);
	assert_int_equal(err.code, ERROR_UNAVAILABLE);
	assert_non_null(strstr(err.text, "atolld"));
	assert_non_null(strstr(err.hint, "ATOLL_API_URL"));
	assert_int_equal(access(arena_format(&arena, "%s/run", folder), F_OK), -1);
}

TEST(a_server_that_answers_is_used_with_its_key)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct local_server server;

	assert_int_equal(local_server_find(&arena, &server, &err), 0);
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", server.socket);
	assert_int_equal(make_folders(arena_format(&arena, "%s/run", folder), 0700, &err), 0);
	assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 8), 0);
	assert_true(local_server_answers(&server));
	assert_int_equal(local_server_start(&arena, &server, &err), -1);
	assert_non_null(strstr(err.text, "key of the local server"));
	assert_int_equal(file_write(-1, arena_format(&arena, "%s/admin.key", folder),
	                            SPAN("atoll_secret\n"), 0600, &err),
	                 0);
	assert_int_equal(local_server_start(&arena, &server, &err), 0);
	assert_string_equal(server.key, "atoll_secret");
}

int main(void)
{
	const struct CMUnitTest cases[] = {
	        CASE(the_data_folder_may_be_named),
	        CASE(a_path_too_long_for_a_socket_is_refused),
	        CASE(without_the_program_the_start_fails_and_says_so),
	        CASE(a_server_that_answers_is_used_with_its_key),
	};

	return cmocka_run_group_tests(cases, make_folder, remove_folder);
}
