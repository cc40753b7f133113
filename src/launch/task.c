/* SPDX-License-Identifier: Apache-2.0 */
/* Starts programs with the privileges of their kind
 * (docs/decisions/tasks-with-few-capabilities.md).
 */
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/log.h"
#include "isolation/confine.h"
#include "isolation/filter.h"
#include "launch/server.h"
#include "wire/task.h"

#define NICE_MOST 19
/* ioprio_set(2) has no header. Class 3 gets the disk when no other process wants it. */
#define IOPRIO_WHO_PROCESS 1
#define IOPRIO_IDLE (3 << 13)
#define PLACES_END 16 /* of descriptors in a program */

/* Reads and writes any file; makes files of any owner and mode, also set-uid ones and devices. The
 * filesystem keeps SYS_ADMIN for overlay's marks, the attributes "trusted.*"; no other call that
 * the filter allows asks for it here. */
#define LAYER_CAPABILITIES                                                                         \
	(CAPABILITY_BIT(CAP_DAC_OVERRIDE) | CAPABILITY_BIT(CAP_CHOWN) |                            \
	 CAPABILITY_BIT(CAP_FOWNER) | CAPABILITY_BIT(CAP_FSETID) | CAPABILITY_BIT(CAP_MKNOD) |     \
	 CAPABILITY_BIT(CAP_SETFCAP) | CAPABILITY_BIT(CAP_SYS_ADMIN))

/* The capabilities that CRIU's documentation names. */
#define CRIU_CAPABILITIES                                                                          \
	(LAYER_CAPABILITIES | CAPABILITY_BIT(CAP_DAC_READ_SEARCH) | CAPABILITY_BIT(CAP_KILL) |     \
	 CAPABILITY_BIT(CAP_SETGID) | CAPABILITY_BIT(CAP_SETUID) | CAPABILITY_BIT(CAP_SETPCAP) |   \
	 CAPABILITY_BIT(CAP_NET_ADMIN) | CAPABILITY_BIT(CAP_SYS_CHROOT) |                          \
	 CAPABILITY_BIT(CAP_SYS_PTRACE) | CAPABILITY_BIT(CAP_SYS_RESOURCE) |                       \
	 CAPABILITY_BIT(CAP_CHECKPOINT_RESTORE))

/* atoll-image makes namespaces, mounts and devices, and starts tools as other users. It drops what
 * each tool does not need (image/jail.h). */
#define IMAGE_CAPABILITIES                                                                         \
	(LAYER_CAPABILITIES | CAPABILITY_BIT(CAP_KILL) | CAPABILITY_BIT(CAP_SETGID) |              \
	 CAPABILITY_BIT(CAP_SETUID) | CAPABILITY_BIT(CAP_SETPCAP) |                                \
	 CAPABILITY_BIT(CAP_NET_ADMIN) | CAPABILITY_BIT(CAP_SYS_CHROOT))

static const struct {
	const char *name; /* of a task of atoll-task; NULL: another program */
	uint64_t capabilities;
	enum launch_view view;
	enum filter_kind filter; /* atoll-task loads its own */
} rows[TASK_KIND_COUNT] = {
        [TASK_MEASURE] = {"measure", CAPABILITY_BIT(CAP_DAC_READ_SEARCH)},
        [TASK_TRASH] = {"trash", CAPABILITY_BIT(CAP_DAC_OVERRIDE) | CAPABILITY_BIT(CAP_FOWNER)},
        [TASK_MERGE] = {"merge", LAYER_CAPABILITIES},
        [TASK_COPY] = {"copy", LAYER_CAPABILITIES},
        [TASK_USERS] = {"users",
                        CAPABILITY_BIT(CAP_SYS_PTRACE) | CAPABILITY_BIT(CAP_DAC_READ_SEARCH),
                        LAUNCH_VIEW_PROCESSES},
        [TASK_IMAGE_MAKE] = {"image-make", 0, LAUNCH_VIEW_HOST},
        [TASK_IMAGE_GROW] = {"image-grow", 0, LAUNCH_VIEW_HOST},
        [TASK_FILL] = {"fill",
                       CAPABILITY_BIT(CAP_DAC_OVERRIDE) | CAPABILITY_BIT(CAP_CHOWN) |
                               CAPABILITY_BIT(CAP_FOWNER) | CAPABILITY_BIT(CAP_MKNOD),
                       LAUNCH_VIEW_HOST},
        [TASK_MEMORY] = {"memory", CRIU_CAPABILITIES, LAUNCH_VIEW_ALL},
        [TASK_NFT] = {NULL, CAPABILITY_BIT(CAP_NET_ADMIN), LAUNCH_VIEW_HOST, FILTER_TOOLS},
        [TASK_IMAGE] = {NULL, IMAGE_CAPABILITIES, LAUNCH_VIEW_ALL, FILTER_TOOLS},
};

struct task {
	const struct launch_server *launch;
	const struct launch_task *request;
	enum task_kind kind;
	const int *fds;
	unsigned fd_count;
	int program_fd; /* atoll-task, above all places */
	const char *argv[LAUNCH_WORDS_MAX + 4];
	char templates[sizeof(((struct launch_server *)NULL)->data_path) + 16];
};

static int take_words(struct task *t, unsigned first, struct error *err)
{
	const char *word = t->request->words, *end = word + sizeof(t->request->words);

	if (t->request->count > LAUNCH_WORDS_MAX)
		return FAIL(err, ERROR_INVALID, "a task with %u words", t->request->count);
	for (unsigned i = 0; i < t->request->count; i++) {
		if (launch_check_text(word, (size_t)(end - word), err) < 0)
			return -1;
		t->argv[first + i] = word;
		word += strlen(word) + 1;
	}
	return 0;
}

static int take_request(struct task *t, const struct launch_call *call, struct error *err)
{
	t->request = call->request;
	t->fds = call->fds;
	t->fd_count = call->fd_count;
	if (t->request->kind >= TASK_KIND_COUNT)
		return FAIL(err, ERROR_INVALID, "unknown kind of task %u", t->request->kind);
	for (unsigned i = 0; i < t->fd_count; i++)
		if (t->request->places[i] >= PLACES_END)
			return FAIL(err, ERROR_INVALID, "a descriptor of a task has no place");
	t->kind = (enum task_kind)t->request->kind;
	t->argv[0] = t->kind == TASK_NFT     ? "nft"
	             : t->kind == TASK_IMAGE ? "atoll-image"
	                                     : "atoll-task";
	t->argv[1] = rows[t->kind].name;
	if (take_words(t, rows[t->kind].name ? 2 : 1, err) < 0)
		return -1;
	/* The last option of a name counts. */
	(void)snprintf(t->templates, sizeof(t->templates), "%s/templates", t->launch->data_path);
	if (t->kind == TASK_IMAGE) {
		t->argv[t->request->count + 1] = "--templates";
		t->argv[t->request->count + 2] = t->templates;
	}
	return 0;
}

static void give_way(void)
{
	(void)setpriority(PRIO_PROCESS, 0, NICE_MOST);
	(void)syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, IOPRIO_IDLE);
}

/* A program with a sanitizer needs the host's libraries. */
static int enter_view(const struct launch_server *l, enum launch_view view, struct error *err)
{
	if (view == LAUNCH_VIEW_ALL)
		return 0;
	if (!ATOLL_SANITIZED)
		return view_enter(l->views[view], err);
	if (view == LAUNCH_VIEW_DATA && fchdir(l->data_fd) < 0)
		return FAIL_ERRNO(err, "change folder");
	return view == LAUNCH_VIEW_PROCESSES && chdir("/proc") < 0
	               ? FAIL_ERRNO(err, "change folder")
	               : 0;
}

/* Moves the descriptors to their places; execve closes all others. A place may have the number of a
 * descriptor of the server, so the program is moved, too: else the broker could choose it. */
static int place_descriptors(struct task *t, struct error *err)
{
	int high[LAUNCH_TASK_FDS_MAX];

	t->program_fd = fcntl(t->launch->task_fd, F_DUPFD_CLOEXEC, PLACES_END);
	for (unsigned i = 0; i < t->fd_count; i++)
		high[i] = fcntl(t->fds[i], F_DUPFD_CLOEXEC, PLACES_END);
	if (close_range(STDERR_FILENO + 1, ~0u, CLOSE_RANGE_CLOEXEC) < 0)
		return FAIL_ERRNO(err, "close descriptors");
	for (unsigned i = 0; i < t->fd_count; i++)
		if (high[i] < 0 || dup2(high[i], (int)t->request->places[i]) < 0)
			return FAIL_ERRNO(err, "hand on a descriptor");
	return 0;
}

static void exec_program(const struct task *t)
{
	char *const *argv = (char **)(uintptr_t)t->argv;
	const char *env[] = {rows[t->kind].name ? fault_entry("task") : NULL, NULL};

	if (rows[t->kind].name)
		(void)syscall(SYS_execveat, t->program_fd, "", argv, env, AT_EMPTY_PATH);
	else if (t->kind == TASK_NFT)
		(void)execve("/usr/sbin/nft", argv, (char **)(uintptr_t)env);
	else
		(void)execv(t->launch->image_path, argv);
}

/* Sanitizers make calls of their own. */
static int load_filter(enum filter_kind kind, struct error *err)
{
	return ATOLL_SANITIZED || kind == FILTER_NONE ? 0 : filter_load(kind, err);
}

/* Returns only after a failure. The tools of atoll-image end with its process group. */
static int become_task(struct task *t, struct error *err)
{
	if (t->request->is_idle)
		give_way();
	if (t->kind == TASK_IMAGE)
		(void)setpgid(0, 0);
	if (enter_view(t->launch, rows[t->kind].view, err) < 0 ||
	    confine_capabilities(rows[t->kind].capabilities, err) < 0 ||
	    place_descriptors(t, err) < 0 || load_filter(rows[t->kind].filter, err) < 0)
		return -1;
	exec_program(t);
	if (t->kind == TASK_NFT && errno == ENOENT)
		_exit(LAUNCH_NO_PROGRAM);
	return FAIL_ERRNO(err, "start %s", t->argv[0]);
}

static NORETURN void run_child(struct task *t, pid_t parent)
{
	struct error err = {0};

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() == parent && become_task(t, &err) < 0)
		log_error("a task does not start", FAILURE(&err));
	_exit(1);
}

int serve_task(struct launch_server *l, const struct launch_call *call, struct launch_reply *ret,
               struct error *err)
{
	struct task t = {.launch = l, .program_fd = -1};
	pid_t self = getpid();
	int pidfd;

	if (take_request(&t, call, err) < 0)
		return -1;
	ret->answer.pid = fork();
	if (ret->answer.pid < 0)
		return FAIL_ERRNO(err, "fork");
	if (ret->answer.pid == 0)
		run_child(&t, self);
	if (pidfd_open_of(ret->answer.pid, &pidfd, err) == 0) {
		launch_reply_add(ret, pidfd);
		return 0;
	}
	(void)kill(ret->answer.pid, SIGKILL);
	(void)waitpid(ret->answer.pid, NULL, 0);
	return -1;
}
