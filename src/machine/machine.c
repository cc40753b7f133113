/* SPDX-License-Identifier: Apache-2.0 */
#include "machine/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/path.h"
#include "json/json.h"
#include "machine/holes.h"
#include "machine/qmp.h"

#define WAIT_MS 60000
#define LOOK_MS 2
#define KEY_FILE "key"

static int call_monitor(struct qmp *q, const char *text, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct json_value *ignored;

	return qmp_call(q, &arena, &(struct qmp_command){text, -1}, &ignored, err);
}

/* Waits until the member of the answer is one of two words; *ret_first tells which. */
static int await_word(struct qmp *q, const char *command, const char *const words[2],
                      bool *ret_first, struct error *err)
{
	const struct timespec pause = {.tv_nsec = LOOK_MS * 1000000};

	for (;;) {
		AUTO(arena_done) struct arena arena = {0};
		const struct json_value *answer;

		if (qmp_call(q, &arena, &(struct qmp_command){command, -1}, &answer, err) < 0)
			return -1;
		const char *status = json_get_text(answer, "status", "");
		*ret_first = strcmp(status, words[0]) == 0;
		if (*ret_first || strcmp(status, words[1]) == 0)
			return 0;
		if (deadline_poll_ms(q->deadline) == 0)
			return FAIL(err, ERROR_TIMEOUT, "QEMU stays in the state '%s'", status);
		(void)nanosleep(&pause, NULL);
	}
}

/* The state leaves out memory that QEMU maps from a file. */
static int ignore_shared(struct qmp *q, struct error *err)
{
	return call_monitor(
	        q,
	        "{\"execute\":\"migrate-set-capabilities\",\"arguments\":{\"capabilities\":"
	        "[{\"capability\":\"x-ignore-shared\",\"state\":true}]}}",
	        err);
}

static int pass_file(struct qmp *q, int fd, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct json_value *ignored;
	const struct qmp_command command = {
	        "{\"execute\":\"getfd\",\"arguments\":{\"fdname\":\"state\"}}", fd};

	return qmp_call(q, &arena, &command, &ignored, err);
}

static int open_file(int folder, const char *name, int flags, int *ret_fd, struct error *err)
{
	*ret_fd = openat(folder, name, flags | O_NOFOLLOW | O_CLOEXEC, 0600);
	return *ret_fd < 0 ? FAIL_ERRNO(err, "open '%s'", name) : 0;
}

static int save_memory(struct qmp *q, int folder, const char *path, const char *bytes,
                       struct error *err)
{
	AUTO(buf_done) struct buf command = BUF(2 * PATH_SIZE_MAX);
	AUTO_CLOSE int fd = -1;

	buf_addf(&command,
	         "{\"execute\":\"pmemsave\",\"arguments\":{\"val\":0,\"size\":%s,\"filename\":",
	         bytes);
	json_write_text(&command, span_of(path));
	buf_add_text(&command, "}}");
	if (call_monitor(q, buf_text(&command), err) < 0 ||
	    open_file(folder, "ram.new", O_RDWR, &fd, err) < 0 || holes_dig(fd, err) < 0)
		return -1;
	return renameat(folder, "ram.new", folder, "ram") < 0 ? FAIL_ERRNO(err, "rename 'ram'") : 0;
}

static int save_state(struct qmp *q, int folder, struct error *err)
{
	static const char *const ends[2] = {"completed", "failed"};
	AUTO_CLOSE int fd = -1;
	bool is_saved;

	if (open_file(folder, "state.new", O_WRONLY | O_CREAT | O_TRUNC, &fd, err) < 0 ||
	    ignore_shared(q, err) < 0 || pass_file(q, fd, err) < 0 ||
	    call_monitor(q, "{\"execute\":\"migrate\",\"arguments\":{\"uri\":\"fd:state\"}}", err) <
	            0 ||
	    await_word(q, "{\"execute\":\"query-migrate\"}", ends, &is_saved, err) < 0)
		return -1;
	if (!is_saved)
		return FAIL(err, ERROR_SYSTEM, "QEMU cannot save the state of the machine");
	return renameat(folder, "state.new", folder, "state") < 0
	               ? FAIL_ERRNO(err, "rename 'state'")
	               : 0;
}

static int run_save(struct qmp *q, char **words, struct error *err)
{
	char path[PATH_SIZE_MAX];
	int64_t bytes;

	AUTO_CLOSE int folder = open(words[0], O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	if (folder < 0)
		return FAIL_ERRNO(err, "open '%s'", words[0]);
	if (span_parse_whole(span_of(words[1]), 1, INT64_MAX, &bytes, err) < 0)
		return FAIL_CONTEXT(err, "size of the memory");
	(void)snprintf(path, sizeof(path), "%.4000s/ram.new", words[0]);
	if (unlinkat(folder, "state", 0) < 0 && errno != ENOENT)
		return FAIL_ERRNO(err, "remove the old state");
	if (call_monitor(q, "{\"execute\":\"stop\"}", err) < 0 ||
	    save_memory(q, folder, path, words[1], err) < 0)
		return -1;
	return save_state(q, folder, err);
}

static int run_continue(struct qmp *q, char **words, struct error *err)
{
	(void)words;
	return call_monitor(q, "{\"execute\":\"cont\"}", err);
}

static int run_restore(struct qmp *q, char **words, struct error *err)
{
	static const char *const loaded[2] = {"paused", "running"};
	AUTO_CLOSE int fd = -1;
	bool is_paused;

	AUTO_CLOSE int folder = open(words[0], O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	if (folder < 0)
		return FAIL_ERRNO(err, "open '%s'", words[0]);
	if (open_file(folder, "state", O_RDONLY, &fd, err) < 0 || ignore_shared(q, err) < 0 ||
	    pass_file(q, fd, err) < 0 ||
	    call_monitor(q,
	                 "{\"execute\":\"migrate-incoming\",\"arguments\":{\"uri\":\"fd:state\"}}",
	                 err) < 0 ||
	    await_word(q, "{\"execute\":\"query-status\"}", loaded, &is_paused, err) < 0)
		return -1;
	return is_paused ? run_continue(q, words, err) : 0;
}

struct verb {
	const char *name;
	int word_count; /* after the socket */
	int (*run)(struct qmp *q, char **words, struct error *err);
};
static const struct verb verbs[] = {
        {"save", 2, run_save},
        {"restore", 1, run_restore},
        {"continue", 0, run_continue},
};

static int check_key(const char *program, const char *key, struct error *err)
{
	AUTO(buf_done) struct buf content = BUF(PATH_SIZE_MAX);
	char path[PATH_SIZE_MAX];
	const char *slash = strrchr(program, '/');

	if (strcmp(key, "-") == 0)
		return 0;
	(void)snprintf(path, sizeof(path), "%.*s/" KEY_FILE, slash ? (int)(slash - program) : 1,
	               slash ? program : ".");
	if (file_read(AT_FDCWD, path, &content, err) < 0)
		return -1;
	return span_equals_text(buf_span(&content), key)
	               ? 0
	               : FAIL(err, ERROR_CONFLICT, "the image is of '%s', not of '%s'",
	                      buf_text(&content), key);
}

static int become_program(char **argv, struct error *err)
{
	if (check_key(argv[0], argv[2], err) < 0)
		return -1;
	(void)execv(argv[3], argv + 3);
	return FAIL_ERRNO(err, "run '%s'", argv[3]);
}

static int run_verb(int argc, char **argv, struct error *err)
{
	for (size_t i = 0; i < COUNT_OF(verbs); i++) {
		struct qmp q;

		if (argc != verbs[i].word_count + 3 || strcmp(argv[1], verbs[i].name) != 0)
			continue;
		int status = qmp_open(&q, argv[2], deadline_after(WAIT_MS), err);
		if (status == 0)
			status = verbs[i].run(&q, argv + 3, err);
		qmp_close(&q);
		return status;
	}
	return FAIL(err, ERROR_INVALID,
	            "usage: atoll-machine run KEY PROGRAM…, save SOCKET FOLDER BYTES, restore "
	            "SOCKET FOLDER, continue SOCKET");
}

int machine_main(int argc, char **argv)
{
	struct error err = {0};
	int status = argc >= 4 && strcmp(argv[1], "run") == 0 ? become_program(argv, &err)
	                                                      : run_verb(argc, argv, &err);

	if (status == 0)
		return 0;
	(void)fprintf(stderr, "%s\n", err.text);
	return 1;
}
