/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/host/task_start.h"

#include <sys/socket.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/fd.h"
#include "broker/host/launcher.h"
#include "wire/task.h"

static int open_reports(int ret_fds[2], struct error *err)
{
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ret_fds) < 0
	               ? FAIL_ERRNO(err, "make a socket pair")
	               : 0;
}

static int read_report(struct arena *a, int fd, int64_t deadline, struct task_report *ret,
                       struct error *err)
{
	AUTO(buf_done) struct buf packet = BUF(WIRE_HEAD_SIZE + WIRE_PAYLOAD_MAX);
	struct span rest, payload;
	struct error early = {0};
	uint16_t type;

	if (wire_receive_packet(fd, deadline, &packet, NULL, &early) < 0)
		return FAIL(err, ERROR_SYSTEM, "a task ended without a report");
	rest = buf_span(&packet);
	if (wire_next(&rest, &type, &payload, NULL, err) != 1 || type != TASK_REPORT ||
	    wire_decode(a, payload, task_report_shape, ret, sizeof(*ret), err) < 0)
		return FAIL(err, ERROR_SYSTEM, "the report of a task is malformed");
	return 0;
}

static int take_report(int fd, int64_t deadline, struct task_result *ret, struct error *err)
{
	AUTO(arena_done) struct arena a = {0};
	struct task_report report;

	if (read_report(&a, fd, deadline, &report, err) < 0)
		return -1;
	if (report.code != ERROR_NONE) {
		error_set(err,
		          report.code < ERROR_CODE_COUNT ? (enum error_code)report.code
		                                         : ERROR_SYSTEM,
		          (int)report.sys_errno, HERE, "%s", report.text);
		return FAIL_HINT(err, "%s", report.hint);
	}
	if (ret)
		*ret = report.result;
	return 0;
}

int task_take_report(struct broker_task *task, struct task_result *ret, struct error *err)
{
	int status = take_report(task->report_fd, deadline_after(0), ret, err);

	fd_forget(&task->report_fd);
	return status;
}

static struct program program_of(const struct task_command *command, int report_fd)
{
	struct program program = {.kind = command->kind,
	                          .is_idle = command->is_idle,
	                          .count = command->count,
	                          .words = command->words};

	program_hand_on(&program, report_fd, TASK_REPORT_FD);
	if (command->input_fd > 0)
		program_hand_on(&program, command->input_fd, TASK_INPUT_FD);
	return program;
}

int task_start(const struct host *host, struct events *events, struct broker_task *task,
               const struct task_command *command, struct error *err)
{
	struct program program;
	int reports[2], status;

	task->report_fd = -1;
	if (open_reports(reports, err) < 0)
		return -1;
	program = program_of(command, reports[1]);
	task->child.host = host;
	status = child_start_program(events, &task->child, &program, err);
	(void)close(reports[1]);
	if (status == 0)
		task->report_fd = reports[0];
	else
		(void)close(reports[0]);
	return status;
}

void task_cancel(struct broker_task *task)
{
	if (!task->child.pid)
		return;
	child_cancel(&task->child);
	fd_forget(&task->report_fd);
}

static int begin_process(const struct host *host, const struct task_command *command,
                         struct task_process *ret, int *ret_pidfd, struct error *err)
{
	struct program program;
	int reports[2], status;
	pid_t pid;

	ret->report_fd = -1;
	if (open_reports(reports, err) < 0)
		return -1;
	program = program_of(command, reports[1]);
	status = program_start(host, &program, &pid, ret_pidfd, err);
	(void)close(reports[1]);
	if (status == 0)
		ret->report_fd = reports[0];
	else
		(void)close(reports[0]);
	return status;
}

int task_begin(const struct host *host, const struct task_command *command,
               struct task_process *ret, struct error *err)
{
	AUTO_CLOSE int pidfd = -1;

	return begin_process(host, command, ret, &pidfd, err);
}

int task_wait_ready(const struct task_process *process, struct error *err)
{
	AUTO(buf_done) struct buf packet = BUF(WIRE_HEAD_SIZE + 1);

	if (wire_receive_packet(process->report_fd, DEADLINE_NEVER, &packet, NULL, err) < 0)
		return FAIL_CONTEXT(err, "a task ended at its start");
	return 0;
}

int task_ask(struct task_process *process, struct task_result *ret, struct error *err)
{
	struct error ignored = {0};
	int status;

	/* If the process is dead, its report is missing, too. */
	(void)!task_send_word(process->report_fd, TASK_GO, &ignored);
	status = take_report(process->report_fd, DEADLINE_NEVER, ret, err);
	fd_forget(&process->report_fd);
	return status;
}

int task_run(const struct host *host, const struct task_command *command, struct task_result *ret,
             struct error *err)
{
	struct task_process process;
	AUTO_CLOSE int pidfd = -1;
	siginfo_t info;
	int status;

	if (begin_process(host, command, &process, &pidfd, err) < 0)
		return -1;
	status = take_report(process.report_fd, DEADLINE_NEVER, ret, err);
	launcher_reap(host, pidfd, &info);
	fd_forget(&process.report_fd);
	return status;
}
