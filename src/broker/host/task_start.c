/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/host/task_start.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/fd.h"
#include "base/log.h"
#include "broker/host/host.h"
#include "isolation/confine.h"

#define BIT(capability) (UINT64_C(1) << (capability))
/* Reads and writes any file; makes files of any owner and mode, also set-uid ones and devices. The
 * filesystem keeps SYS_ADMIN for overlay's marks, the attributes "trusted.*"; no other call that
 * the filter allows asks for it here. */
#define LAYER_CAPABILITIES                                                                         \
	(BIT(CAP_DAC_OVERRIDE) | BIT(CAP_CHOWN) | BIT(CAP_FOWNER) | BIT(CAP_FSETID) |              \
	 BIT(CAP_MKNOD) | BIT(CAP_SETFCAP) | BIT(CAP_SYS_ADMIN))

/* The capabilities that CRIU's documentation names. */
#define CRIU_CAPABILITIES                                                                          \
	(LAYER_CAPABILITIES | BIT(CAP_DAC_READ_SEARCH) | BIT(CAP_KILL) | BIT(CAP_SETGID) |         \
	 BIT(CAP_SETUID) | BIT(CAP_SETPCAP) | BIT(CAP_NET_ADMIN) | BIT(CAP_SYS_CHROOT) |           \
	 BIT(CAP_SYS_PTRACE) | BIT(CAP_SYS_RESOURCE) | BIT(CAP_CHECKPOINT_RESTORE))

static const struct {
	const char *name;
	uint64_t capabilities;
	enum task_view view;
} rows[TASK_KIND_COUNT] = {
        [TASK_MEASURE] = {"measure", BIT(CAP_DAC_READ_SEARCH)},
        [TASK_TRASH] = {"trash", BIT(CAP_DAC_OVERRIDE) | BIT(CAP_FOWNER)},
        [TASK_MERGE] = {"merge", LAYER_CAPABILITIES},
        [TASK_COPY] = {"copy", LAYER_CAPABILITIES},
        [TASK_USERS] = {"users", BIT(CAP_SYS_PTRACE) | BIT(CAP_DAC_READ_SEARCH), VIEW_PROCESSES},
        [TASK_IMAGE_MAKE] = {"image-make", 0, VIEW_HOST},
        [TASK_IMAGE_GROW] = {"image-grow", 0, VIEW_HOST},
        [TASK_FILL] = {"fill",
                       BIT(CAP_DAC_OVERRIDE) | BIT(CAP_CHOWN) | BIT(CAP_FOWNER) | BIT(CAP_MKNOD),
                       VIEW_HOST},
        [TASK_MEMORY] = {"memory", CRIU_CAPABILITIES, VIEW_ALL},
};

/* ---- the child ---- */

/* A program with a sanitizer needs the host's libraries. */
static int enter_task_view(const struct host *host, enum task_view view, struct error *err)
{
	if (view == VIEW_ALL)
		return 0;
	if (!ATOLL_SANITIZED)
		return view_enter(host->views[view], err);
	if (view == VIEW_DATA && fchdir(host->folders[FOLDER_DATA]) < 0)
		return FAIL_ERRNO(err, "change folder");
	return view == VIEW_PROCESSES && chdir("/proc") < 0 ? FAIL_ERRNO(err, "change folder") : 0;
}

/* Moves the descriptors to their fixed numbers; execve closes all others. */
static int place_descriptors(int report_fd, int input_fd, struct error *err)
{
	int report = fcntl(report_fd, F_DUPFD_CLOEXEC, TASK_INPUT_FD + 1);
	int input = input_fd > 0 ? fcntl(input_fd, F_DUPFD_CLOEXEC, TASK_INPUT_FD + 1) : -1;

	if (close_range(TASK_REPORT_FD, ~0u, CLOSE_RANGE_CLOEXEC) < 0 || report < 0 ||
	    dup2(report, TASK_REPORT_FD) < 0 ||
	    (input_fd > 0 && (input < 0 || dup2(input, TASK_INPUT_FD) < 0)))
		return FAIL_ERRNO(err, "hand on a descriptor");
	return 0;
}

static int exec_program(const struct host *host, const struct task_command *command, int report_fd,
                        struct error *err)
{
	const char *argv[TASK_WORDS_MAX + 3] = {"atoll-task", rows[command->kind].name};
	const char *env[] = {fault_entry("task"), NULL};

	assert(command->count <= TASK_WORDS_MAX);
	for (unsigned i = 0; i < command->count; i++)
		argv[2 + i] = command->words[i];
	if (command->is_idle)
		child_give_way();
	if (enter_task_view(host, rows[command->kind].view, err) < 0 ||
	    confine_capabilities(rows[command->kind].capabilities, err) < 0 ||
	    place_descriptors(report_fd, command->input_fd, err) < 0)
		return -1;
	(void)syscall(SYS_execveat, host->task_fd, "", argv, env, AT_EMPTY_PATH);
	return FAIL_ERRNO(err, "start atoll-task");
}

struct task_child {
	const struct host *host;
	const struct task_command *command;
	int report_fd;
};

/* Returns only after a failure. */
static int run_program(void *context)
{
	const struct task_child *c = context;
	struct error err = {0};

	(void)!exec_program(c->host, c->command, c->report_fd, &err);
	log_error("a task does not start", FAILURE(&err));
	return -1;
}

/* ---- its report ---- */

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

/* ---- start ---- */

int task_start(const struct host *host, struct events *events, struct broker_task *task,
               const struct task_command *command, struct error *err)
{
	struct task_child child = {.host = host, .command = command};
	int reports[2], status;

	task->report_fd = -1;
	if (open_reports(reports, err) < 0)
		return -1;
	child.report_fd = reports[1];
	status = child_start(events, &task->child, run_program, &child, err);
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
                         struct task_process *ret, pid_t *ret_pid, struct error *err)
{
	pid_t parent = getpid();
	int reports[2];

	ret->report_fd = -1;
	if (open_reports(reports, err) < 0)
		return -1;
	*ret_pid = fork();
	if (*ret_pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
		(void)run_program(&(struct task_child){host, command, reports[1]});
		_exit(1);
	}
	(void)close(reports[1]);
	if (*ret_pid > 0) {
		ret->report_fd = reports[0];
		return 0;
	}
	(void)close(reports[0]);
	return FAIL_ERRNO(err, "fork");
}

int task_begin(const struct host *host, const struct task_command *command,
               struct task_process *ret, struct error *err)
{
	pid_t pid;

	return begin_process(host, command, ret, &pid, err);
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
	pid_t pid;
	int status;

	if (begin_process(host, command, &process, &pid, err) < 0)
		return -1;
	status = take_report(process.report_fd, DEADLINE_NEVER, ret, err);
	(void)waitpid(pid, NULL, 0);
	fd_forget(&process.report_fd);
	return status;
}
