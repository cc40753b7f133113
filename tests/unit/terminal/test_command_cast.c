/* SPDX-License-Identifier: Apache-2.0 */
/* Recordings of commands: what is kept, their limit, and how many there may be. */
#include "terminal/command_cast.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "blob/blob.h"
#include "terminal/recording.h"
#include "terminal/terminal.h"
#include "unit.h"

static char folder[64];
static struct blob_store *blobs;
static struct terminals *terminals;
static struct arena arena;

static int set_up(void **state)
{
	struct error err = {0};

	(void)state;
	log_open("test", LOG_ERROR);
	unit_folder(folder, sizeof(folder), "blobs");
	assert_int_equal(blob_open(folder, &blobs, &err), 0);
	terminals = terminals_new(&(struct terminals_options){.blobs = blobs, .spool = folder});
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	terminals_stop(terminals);
	terminals_free(terminals);
	blob_close(blobs);
	/* The store leaves its folders. */
	for (const char *const *at =
	             (const char *const[]){"/recordings/project", "/recordings", "", NULL};
	     *at; at++) {
		char path[128];

		(void)snprintf(path, sizeof(path), "%s%s", folder, *at);
		(void)rmdir(path);
	}
	arena_done(&arena);
	return 0;
}

static int begin_cast_of(const char *project, struct command_cast **ret, struct error *err)
{
	const struct command_cast_options options = {.project_id = project,
	                                             .sandbox_id = "box",
	                                             .title = "make \"all\"",
	                                             .rows = 24,
	                                             .columns = 80};

	return command_cast_new(terminals, &options, ret, err);
}

static int begin_cast(struct command_cast **ret, struct error *err)
{
	return begin_cast_of("project", ret, err);
}

/* Stores the cast as process 3 of 1700000000000, and reads it. */
static struct span store_cast(struct command_cast *cast)
{
	struct buf text = BUF(2 * COMMAND_CAST_BYTES_MAX);
	const char *id = command_cast_id(cast);
	struct span stored;
	struct error err = {0};
	int64_t size;
	char piece[65536];
	ssize_t got;
	int fd;

	command_cast_started(cast, 3);
	assert_int_equal(strncmp(id, "box-", 4), 0);
	assert_null(strstr(id, "-3"));
	assert_int_equal(command_cast_store(cast, &err), 0);
	assert_int_equal(terminal_recording_open(terminals, "project", id, &fd, &size, &err), 0);
	while ((got = read(fd, piece, sizeof(piece))) > 0)
		buf_add(&text, piece, (size_t)got);
	(void)close(fd);
	assert_int_equal((int64_t)text.size, size);
	assert_int_equal(terminal_recording_delete(terminals, "project", id, &err), 0);
	stored = (struct span){arena_copy(&arena, buf_span(&text)), text.size};
	buf_done(&text);
	command_cast_free(cast);
	return stored;
}

TEST(lines_begin_at_the_left_as_a_terminal_shows_them)
{
	struct command_cast *cast;
	struct error err = {0};
	struct span text;

	assert_int_equal(begin_cast(&cast, &err), 0);
	command_cast_add(cast, SPAN("one\ntwo\r\n\nthr"));
	command_cast_add(cast, SPAN("ee\n"));
	text = store_cast(cast);
	assert_true(span_starts_with(text, "{\"version\":2,\"width\":80,\"height\":24,"));
	assert_non_null(strstr(text.data, "\"title\":\"make \\\"all\\\"\""));
	assert_non_null(strstr(text.data, "\"o\",\"one\\r\\ntwo\\r\\n\\r\\nthr\"]\n"));
	assert_non_null(strstr(text.data, "\"o\",\"ee\\r\\n\"]\n"));
	assert_null(strstr(text.data, "missing"));
}

TEST(what_does_not_fit_is_counted)
{
	enum { PIECES = 40, PIECE = 100000 };
	char *piece = memory_new(PIECE);
	struct command_cast *cast;
	struct error err = {0};
	struct span text;
	char marker[64];
	size_t kept = 0;

	memset(piece, 'x', PIECE);
	assert_int_equal(begin_cast(&cast, &err), 0);
	for (unsigned i = 0; i < PIECES; i++)
		command_cast_add(cast, (struct span){piece, PIECE});
	/* After the first loss nothing is added, so that the order of the output stays true. */
	command_cast_add(cast, SPAN("late"));
	text = store_cast(cast);
	assert_true(text.size <= COMMAND_CAST_BYTES_MAX);
	for (const char *at = text.data; (at = strstr(at, "xxxx")); at += PIECE)
		kept++;
	assert_true(kept > 0 && kept < PIECES);
	(void)snprintf(marker, sizeof(marker), "\"m\",\"%zu bytes are missing\"",
	               (PIECES - kept) * PIECE + strlen("late"));
	assert_non_null(strstr(text.data, marker));
	assert_null(strstr(text.data, "late"));
	free(piece);
}

static void check_limit(const char *project)
{
	struct command_cast *further;
	struct error err = {0};

	assert_int_equal(begin_cast_of(project, &further, &err), -1);
	assert_int_equal(err.code, ERROR_LIMIT);
	error_clear(&err);
}

TEST(so_many_commands_are_recorded_at_once)
{
	struct command_cast *casts[COMMAND_CASTS_MAX];
	struct error err = {0};

	for (unsigned i = 0; i < COMMAND_CASTS_MAX; i++) {
		const char *project = i < COMMAND_CASTS_OF_PROJECT_MAX ? "one" : "two";

		assert_int_equal(begin_cast_of(project, &casts[i], &err), 0);
		/* A project that has all of its own leaves the rest to others. */
		if (i == COMMAND_CASTS_OF_PROJECT_MAX - 1)
			check_limit("one");
	}
	check_limit("three");
	command_cast_free(casts[0]);
	check_limit("two");
	assert_int_equal(begin_cast_of("one", &casts[0], &err), 0);
	for (unsigned i = 0; i < COMMAND_CASTS_MAX; i++)
		command_cast_free(casts[i]);
}

TEST(a_server_without_a_blob_store_records_nothing)
{
	struct terminals *without = terminals_new(&(struct terminals_options){.waits_max = 1});
	const struct command_cast_options options = {
	        .project_id = "project", .sandbox_id = "box", .title = "ls"};
	struct command_cast *cast;
	struct error err = {0};

	assert_int_equal(command_cast_new(without, &options, &cast, &err), -1);
	assert_int_equal(err.code, ERROR_UNSUPPORTED);
	terminals_free(without);
}

#define STEP(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
int main(void)
{
	return RUN(STEP(lines_begin_at_the_left_as_a_terminal_shows_them),
	           STEP(what_does_not_fit_is_counted), STEP(so_many_commands_are_recorded_at_once),
	           CASE(a_server_without_a_blob_store_records_nothing));
}
