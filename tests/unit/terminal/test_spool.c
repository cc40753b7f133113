/* SPDX-License-Identifier: Apache-2.0 */
/* Recordings on their way to the blob store, and those that a killed server has left. */
#include "terminal/spool.h"

#include <string.h>

#include "base/bytes.h"
#include "base/fd.h"
#include "base/log.h"
#include "terminal/recording.h"
#include "terminal/terminal.h"
#include "unit.h"

#define ID "box-1700000000000-3"
#define NAME "project_" ID ".cast"

static char spool[64], blob_folder[64];
static struct blob_store *blobs;
static struct terminals *terminals;
static struct arena arena;

static int set_up(void **state)
{
	struct error err = {0};

	(void)state;
	log_open("test", LOG_ERROR);
	unit_folder(spool, sizeof(spool), "spool");
	unit_folder(blob_folder, sizeof(blob_folder), "blobs");
	assert_int_equal(blob_open(blob_folder, &blobs, &err), 0);
	terminals = terminals_new(&(struct terminals_options){.blobs = blobs, .spool = spool});
	return 0;
}

static struct terminal_recordings list_recordings(void)
{
	struct terminal_recordings list;
	struct error err = {0};

	assert_int_equal(terminal_recordings_list(terminals, &arena, "project", &list, &err), 0);
	return list;
}

static int tear_down(void **state)
{
	struct terminal_recordings list = list_recordings();
	struct error err = {0};
	char path[128];

	(void)state;
	for (size_t i = 0; i < list.count; i++)
		assert_int_equal(
		        terminal_recording_delete(terminals, "project", list.items[i].id, &err), 0);
	terminals_stop(terminals);
	terminals_free(terminals);
	blob_close(blobs);
	/* The store leaves its folders. */
	for (const char *const *at =
	             (const char *const[]){"/recordings/project", "/recordings", "", NULL};
	     *at; at++) {
		(void)snprintf(path, sizeof(path), "%s%s", blob_folder, *at);
		(void)rmdir(path);
	}
	unit_remove_folder(spool);
	arena_done(&arena);
	return 0;
}

static void spool_text(const char *file, struct span text)
{
	AUTO_CLOSE int fd = -1;
	struct spool_name name;
	struct error err = {0};

	(void)snprintf(name.text, sizeof(name.text), "%s", file);
	assert_int_equal(spool_create(spool, &name, &fd, &err), 0);
	assert_int_equal(fd_write_all(fd, text.data, text.size, &err), 0);
}

static int publish(const char *file, struct error *err)
{
	struct spool_name name;

	*err = (struct error){0};
	(void)snprintf(name.text, sizeof(name.text), "%s", file);
	return spool_publish(spool, &name, blobs, err);
}

static unsigned spooled(void)
{
	struct spool_name names[8];

	return spool_list(spool, names, COUNT_OF(names));
}

static void assert_recording(const char *id, const char *expected)
{
	AUTO(buf_done) struct buf text = BUF(1 << 20);
	AUTO_CLOSE int fd = -1;
	struct error err = {0};
	int64_t size;

	assert_int_equal(terminal_recording_open(terminals, "project", id, &fd, &size, &err), 0);
	assert_int_equal(fd_read_to_end(fd, &text, &err), 0);
	assert_string_equal(buf_text(&text), expected);
	assert_int_equal(size, strlen(expected));
}

TEST(whole_lines_are_published_and_the_file_goes)
{
	struct terminal_recordings list;
	struct error err;

	spool_text(NAME, SPAN("head\nline\nhalf a li"));
	assert_int_equal(publish(NAME, &err), 0);
	assert_int_equal(spooled(), 0);
	assert_recording(ID, "head\nline\n");
	list = list_recordings();
	assert_int_equal(list.count, 1);
	assert_string_equal(list.items[0].id, ID);
	assert_string_equal(list.items[0].sandbox, "box");
	assert_int_equal(list.items[0].started_at, 1700000000000);
	assert_int_equal(list.items[0].process, 3);
	assert_int_equal(list.items[0].size, 10);
}

TEST(a_line_longer_than_a_piece_is_left_out_whole)
{
	AUTO(buf_done) struct buf text = BUF(1 << 20);
	struct error err;

	buf_add_text(&text, "head\n");
	for (int i = 0; i < 20000; i++)
		buf_add_byte(&text, 'x');
	spool_text(NAME, buf_span(&text));
	assert_int_equal(publish(NAME, &err), 0);
	assert_recording(ID, "head\n");
}

TEST(a_file_without_a_line_leaves_nothing)
{
	struct error err;

	spool_text(NAME, SPAN("half"));
	spool_text("project_box-1-1.cast", SPAN(""));
	assert_int_equal(publish(NAME, &err), 0);
	assert_int_equal(publish("project_box-1-1.cast", &err), 0);
	assert_int_equal(spooled(), 0);
	assert_int_equal(list_recordings().count, 0);
}

TEST(what_was_published_before_the_server_ended_is_published_once)
{
	struct error err;

	spool_text(NAME, SPAN("head\n"));
	assert_int_equal(publish(NAME, &err), 0);
	spool_text(NAME, SPAN("head\nother\n"));
	assert_int_equal(publish(NAME, &err), 0);
	assert_int_equal(spooled(), 0);
	assert_recording(ID, "head\n");
}

TEST(files_that_are_no_recordings_stay)
{
	struct error err;

	spool_text("notes.txt", SPAN("a\n"));
	spool_text("project_x", SPAN("a\n"));
	assert_int_equal(publish("notes.txt", &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
	assert_int_equal(publish("project_x", &err), -1);
	assert_int_equal(publish("absent_x.cast", &err), -1);
	assert_int_equal(spooled(), 2);
}

TEST(a_recording_has_a_file_of_its_own)
{
	AUTO_CLOSE int fd = -1;
	struct spool_name name = {NAME};
	struct error err = {0};

	spool_text(NAME, SPAN("a\n"));
	assert_int_equal(spool_create(spool, &name, &fd, &err), -1);
	spool_remove(spool, &name);
	assert_int_equal(spooled(), 0);
	spool_remove(spool, &name);
	assert_int_equal(spool_create("/nonexistent", &name, &fd, &err), -1);
	assert_int_equal(spool_list("/nonexistent", &name, 1), 0);
}

TEST(a_start_publishes_what_a_killed_server_has_left)
{
	spool_text(NAME, SPAN("head\nline\n"));
	spool_text("notes.txt", SPAN("a\n"));
	terminals_recover(terminals);
	terminals_stop(terminals);
	/* A stop ends the work early, so that it may be done by the next start. */
	if (spooled() == 1)
		assert_recording(ID, "head\nline\n");
	else
		assert_int_equal(spooled(), 2);
}

TEST(recordings_are_of_a_project_and_have_plain_ids)
{
	static const char *const bad[] = {"", "../../etc/passwd", "A", "a/b", "a.cast", "unknown"};
	AUTO_CLOSE int fd = -1;
	struct error err = {0};
	int64_t size;

	spool_text(NAME, SPAN("head\n"));
	assert_int_equal(publish(NAME, &err), 0);
	assert_int_equal(terminal_recording_open(terminals, "other", ID, &fd, &size, &err), -1);
	assert_int_equal(err.code, ERROR_NOT_FOUND);
	assert_int_equal(terminal_recording_delete(terminals, "other", ID, &err), -1);
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		err = (struct error){0};
		assert_int_equal(
		        terminal_recording_open(terminals, "project", bad[i], &fd, &size, &err),
		        -1);
		assert_int_equal(err.code, ERROR_NOT_FOUND);
		assert_int_equal(terminal_recording_delete(terminals, "project", bad[i], &err), -1);
	}
	assert_int_equal(terminal_recording_delete(terminals, "project", ID, &err), 0);
	assert_int_equal(terminal_recording_delete(terminals, "project", ID, &err), -1);
}

TEST(without_a_blob_store_there_are_no_recordings)
{
	struct terminals *none = terminals_new(&(struct terminals_options){.waits_max = 1});
	struct terminal_recordings list;
	struct error err = {0};
	int64_t size;
	int fd;

	assert_int_equal(terminal_recordings_list(none, &arena, "project", &list, &err), 0);
	assert_int_equal(list.count, 0);
	assert_int_equal(terminal_recording_open(none, "project", ID, &fd, &size, &err), -1);
	assert_int_equal(err.code, ERROR_NOT_FOUND);
	terminals_recover(none);
	terminals_stop(none);
	terminals_free(none);
	terminals_free(NULL);
}

#define STEP(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
int main(void)
{
	return RUN(STEP(whole_lines_are_published_and_the_file_goes),
	           STEP(a_line_longer_than_a_piece_is_left_out_whole),
	           STEP(a_file_without_a_line_leaves_nothing),
	           STEP(what_was_published_before_the_server_ended_is_published_once),
	           STEP(files_that_are_no_recordings_stay), STEP(a_recording_has_a_file_of_its_own),
	           STEP(a_start_publishes_what_a_killed_server_has_left),
	           STEP(recordings_are_of_a_project_and_have_plain_ids),
	           STEP(without_a_blob_store_there_are_no_recordings));
}
