/* SPDX-License-Identifier: Apache-2.0 */
#include "task/task.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "isolation/checkpoint.h"
#include "isolation/filter.h"
#include "task/kinds.h"
#include "wire/task.h"

static const struct {
	const char *name;
	int words_min;
	run_task *run;
	enum filter_kind filter;
} rows[] = {
        {"measure", 2, task_measure, FILTER_FILES},
        {"trash", 0, task_trash, FILTER_FILES},
        {"merge", 2, task_merge, FILTER_FILES},
        {"copy", 3, task_copy, FILTER_FILES},
        {"users", 2, task_users, FILTER_FILES},
        {"image-make", 3, task_image_make, FILTER_PROGRAMS},
        {"image-grow", 2, task_image_grow, FILTER_PROGRAMS},
        {"fill", 1, task_fill, FILTER_FILES},
        {"memory", 0, task_memory, FILTER_NONE},
};

/* Sanitizers make calls of their own. */
static int confine_task(enum filter_kind kind, struct error *err)
{
	return ATOLL_SANITIZED || kind == FILTER_NONE ? 0 : filter_load(kind, err);
}

int task_wait(struct error *err)
{
	AUTO(buf_done) struct buf packet = BUF(WIRE_HEAD_SIZE + 1);

	fault_point("task", "ready");
	if (task_send_word(TASK_REPORT_FD, TASK_READY, err) < 0)
		return -1;
	return wire_receive_packet(TASK_REPORT_FD, DEADLINE_NEVER, &packet, NULL, err);
}

int task_memory(UNUSED char **words, UNUSED struct task_report *report, struct error *err)
{
	checkpoint_refuse(&(struct checkpoint_options){.criu = NULL}, err);
	return err->code == ERROR_NONE ? 0 : -1;
}

static int run_task_of(int argc, char **argv, struct task_report *report, struct error *err)
{
	for (unsigned i = 0; argc > 1 && i < COUNT_OF(rows); i++) {
		if (strcmp(rows[i].name, argv[1]) != 0 || argc - 2 < rows[i].words_min)
			continue;
		if (confine_task(rows[i].filter, err) < 0)
			return -1;
		return rows[i].run(argv + 2, report, err);
	}
	return FAIL(err, ERROR_INVALID, "unknown task, or one without its words");
}

static int send_report(struct task_report *report, const struct error *failure, struct error *err)
{
	AUTO(buf_done) struct buf frame = BUF(WIRE_HEAD_SIZE + WIRE_PAYLOAD_MAX);

	report->code = failure->code;
	report->sys_errno = (uint32_t)failure->sys_errno;
	report->text = failure->text;
	report->hint = failure->hint;
	if (wire_encode(&frame, TASK_REPORT, task_report_shape, report, err) < 0)
		return -1;
	return wire_send_packet(TASK_REPORT_FD, buf_span(&frame), NULL, DEADLINE_NEVER, err);
}

int task_main(int argc, char **argv)
{
	struct task_report report = {.code = ERROR_NONE};
	struct error failure = {.code = ERROR_NONE}, err = {0};

	log_open("atoll-task", LOG_INFO);
	(void)umask(0);
	(void)!run_task_of(argc, argv, &report, &failure);
	if (send_report(&report, &failure, &err) == 0)
		return failure.code == ERROR_NONE ? EXIT_SUCCESS : EXIT_FAILURE;
	log_error("a task cannot report", FAILURE(&err));
	return EXIT_FAILURE;
}
