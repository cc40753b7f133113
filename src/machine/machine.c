/* SPDX-License-Identifier: Apache-2.0 */
#include "machine/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
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
#define BYTES_MAX (INT64_C(3072) << 20) /* QEMU splits more memory in two parts */

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

static int find_memory_size(struct qmp *q, int64_t *ret, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct json_value *answer;

	if (qmp_call(q, &arena,
	             &(struct qmp_command){"{\"execute\":\"query-memory-size-summary\"}", -1},
	             &answer, err) < 0)
		return -1;
	*ret = json_get_whole(answer, "base-memory", 0);
	return *ret > 0 && *ret < BYTES_MAX
	               ? 0
	               : FAIL(err, ERROR_UNSUPPORTED,
	                      "the memory of a machine of 3 GiB or more cannot be kept");
}

static int save_memory(struct qmp *q, int folder, const char *folder_path, struct error *err)
{
	AUTO(buf_done) struct buf command = BUF(2 * PATH_SIZE_MAX);
	char path[PATH_SIZE_MAX];
	AUTO_CLOSE int fd = -1;
	int64_t bytes;

	if (find_memory_size(q, &bytes, err) < 0)
		return -1;
	(void)snprintf(path, sizeof(path), "%.4000s/ram.new", folder_path);
	buf_addf(&command,
	         "{\"execute\":\"pmemsave\",\"arguments\":{\"val\":0,\"size\":%lld,"
	         "\"filename\":",
	         (long long)bytes);
	json_write_text(&command, span_of(path));
	buf_add_text(&command, "}}");
	if (call_monitor(q, buf_text(&command), err) < 0 ||
	    open_file(folder, "ram.new", O_RDWR, &fd, err) < 0 || holes_dig(fd, err) < 0)
		return -1;
	if (fsync(fd) < 0)
		return FAIL_ERRNO(err, "write 'ram' to the disk");
	return renameat(folder, "ram.new", folder, "ram") < 0 ? FAIL_ERRNO(err, "rename 'ram'") : 0;
}

/* The name of the machine says all that its memory depends on. */
static int save_key(struct qmp *q, int folder, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct json_value *answer;

	if (qmp_call(q, &arena, &(struct qmp_command){"{\"execute\":\"query-name\"}", -1}, &answer,
	             err) < 0)
		return -1;
	return file_write(folder, "key", span_of(json_get_text(answer, "name", "")), 0644, err);
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
	if (fsync(fd) < 0)
		return FAIL_ERRNO(err, "write 'state' to the disk");
	return renameat(folder, "state.new", folder, "state") < 0
	               ? FAIL_ERRNO(err, "rename 'state'")
	               : 0;
}

static int run_continue(struct qmp *q, char **words, struct error *err)
{
	(void)words;
	return call_monitor(q, "{\"execute\":\"cont\"}", err);
}

static int run_stop(struct qmp *q, char **words, struct error *err)
{
	(void)words;
	return call_monitor(q, "{\"execute\":\"stop\"}", err);
}

static int save_machine(struct qmp *q, const char *path, struct error *err)
{
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return FAIL_ERRNO(err, "make the folder '%s'", path);
	AUTO_CLOSE int folder = open(path, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	if (folder < 0)
		return FAIL_ERRNO(err, "open '%s'", path);
	if (unlinkat(folder, "state", 0) < 0 && errno != ENOENT)
		return FAIL_ERRNO(err, "remove the old state");
	if (run_stop(q, NULL, err) < 0 || save_memory(q, folder, path, err) < 0 ||
	    save_key(q, folder, err) < 0 || save_state(q, folder, err) < 0)
		return -1;
	return fsync(folder) < 0 ? FAIL_ERRNO(err, "write '%s' to the disk", path) : 0;
}

static int run_save(struct qmp *q, char **words, struct error *err)
{
	struct error second = {0};

	if (save_machine(q, words[0], err) == 0)
		return 0;
	if (run_continue(q, NULL, &second) < 0)
		(void)FAIL_CONTEXT(err, "the machine does not continue (%.100s)", second.text);
	return -1;
}

/* *ret_paused: the processors do not run yet. */
static int load_state(struct qmp *q, const char *path, bool *ret_paused, struct error *err)
{
	static const char *const loaded[2] = {"paused", "running"};
	AUTO_CLOSE int fd = -1;

	AUTO_CLOSE int folder = open(path, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	if (folder < 0)
		return FAIL_ERRNO(err, "open '%s'", path);
	if (open_file(folder, "state", O_RDONLY, &fd, err) < 0 || ignore_shared(q, err) < 0 ||
	    pass_file(q, fd, err) < 0 ||
	    call_monitor(q,
	                 "{\"execute\":\"migrate-incoming\",\"arguments\":{\"uri\":\"fd:state\"}}",
	                 err) < 0)
		return -1;
	return await_word(q, "{\"execute\":\"query-status\"}", loaded, ret_paused, err);
}

static int run_restore(struct qmp *q, char **words, struct error *err)
{
	bool is_paused;

	if (load_state(q, words[0], &is_paused, err) < 0)
		return -1;
	return is_paused ? run_continue(q, words, err) : 0;
}

/* QEMU was started with -S, so that the processors do not run when the state is there. */
static int run_load(struct qmp *q, char **words, struct error *err)
{
	bool is_paused;

	if (load_state(q, words[0], &is_paused, err) < 0)
		return -1;
	return is_paused ? 0 : FAIL(err, ERROR_SYSTEM, "the machine runs already");
}

struct verb {
	const char *name;
	int word_count; /* after the socket */
	int (*run)(struct qmp *q, char **words, struct error *err);
};
static const struct verb verbs[] = {
        {"save", 1, run_save}, {"load", 1, run_load},         {"restore", 1, run_restore},
        {"stop", 0, run_stop}, {"continue", 0, run_continue},
};

static int check_key(const char *path, const char *key, struct error *err)
{
	AUTO(buf_done) struct buf content = BUF(PATH_SIZE_MAX);

	if (strcmp(path, "-") == 0)
		return 0;
	if (file_read(AT_FDCWD, path, &content, err) < 0)
		return -1;
	return span_equals_text(buf_span(&content), key)
	               ? 0
	               : FAIL(err, ERROR_CONFLICT, "the memory is of '%s', not of '%s'",
	                      buf_text(&content), key);
}

static int run_check(char **argv, struct error *err)
{
	return check_key(argv[2], argv[3], err);
}

static int become_program(char **argv, struct error *err)
{
	if (check_key(argv[2], argv[3], err) < 0)
		return -1;
	/* Huge pages would make the machine's own memory larger than what it uses. Without the call
	 * it only is larger. */
	(void)prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	(void)execv(argv[4], argv + 4);
	return FAIL_ERRNO(err, "run '%s'", argv[4]);
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
	            "usage: atoll-machine run FILE KEY PROGRAM…, check FILE KEY, save, load or "
	            "restore SOCKET "
	            "FOLDER, stop or continue SOCKET");
}

int machine_main(int argc, char **argv)
{
	struct error err = {0};
	int status = argc == 4 && strcmp(argv[1], "check") == 0 ? run_check(argv, &err)
	             : argc >= 5 && strcmp(argv[1], "run") == 0 ? become_program(argv, &err)
	                                                        : run_verb(argc, argv, &err);

	if (status == 0)
		return 0;
	(void)fprintf(stderr, "%s\n", err.text);
	return 1;
}
