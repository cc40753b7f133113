/* SPDX-License-Identifier: Apache-2.0 */
/* BROKER_HOST: the agent runs as an ordinary process of atolld's user in its own folder. There are
 * no namespaces and no isolation; this is for development by one user on their own machine. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/fd.h"
#include "broker/host/cleanup_item.h"
#include "broker/host/host.h"
#include "broker/host/options.h"
#include "broker/host/slots.h"
#include "broker/sandbox/run_state.h"
#include "broker/sandbox/sandbox.h"
#include "broker/sandbox/sandboxes.h"
#include "broker/sandbox/setup.h"

struct broker_options;
struct cgroup_host;

#define LISTEN_FD 3
#define LISTEN_BACKLOG 256
#define HOST_PATH_MAX 4300

static int make_owned(int parent, const char *path, const struct broker_options *o, mode_t mode,
                      struct error *err)
{
	if (mkdirat(parent, path, 0700) < 0 && errno != EEXIST)
		return FAIL_ERRNO(err, "make the folder '%s'", path);
	if (fchownat(parent, path, o->uid, o->gid, AT_SYMLINK_NOFOLLOW) < 0 ||
	    fchmodat(parent, path, mode, 0) < 0)
		return FAIL_ERRNO(err, "give away the folder '%s'", path);
	return 0;
}

/* The files are in a folder that atolld's user may enter. DATA/sandboxes/ID, which it may not
 * enter, marks the sandbox as existing. */
static int make_files(struct sandbox *sandbox, struct error *err)
{
	const struct host *host = sandbox->sandboxes->host;

	if (make_owned(host->folders[FOLDER_HOST_FILES], sandbox->id, host->options, 0700, err) < 0)
		return -1;
	if (mkdirat(host->folders[FOLDER_SANDBOXES], sandbox->id, 0700) < 0 && errno != EEXIST)
		return FAIL_ERRNO(err, "make the folder of '%s'", sandbox->id);
	return 0;
}

static int make_socket(struct sandbox *sandbox, int *ret_fd, struct error *err)
{
	const struct host *host = sandbox->sandboxes->host;
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char path[96];

	if (mkdirat(host->folders[FOLDER_RUN_SANDBOXES], sandbox->id, 0711) < 0)
		return FAIL_ERRNO(err, "make the run folder of '%s'", sandbox->id);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d/%s/agent.sock",
	               host->folders[FOLDER_RUN_SANDBOXES], sandbox->id);
	memcpy(address.sun_path, path, sizeof(path));
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(fd, LISTEN_BACKLOG) < 0)
		return FAIL_ERRNO(err, "listen on the agent's socket");
	(void)snprintf(path, sizeof(path), "%s/agent.sock", sandbox->id);
	if (fchownat(host->folders[FOLDER_RUN_SANDBOXES], path, host->options->uid,
	             host->options->gid, 0) < 0 ||
	    fchmodat(host->folders[FOLDER_RUN_SANDBOXES], path, 0600, 0) < 0)
		return FAIL_ERRNO(err, "give away the agent's socket");
	*ret_fd = TAKE_FD(fd);
	return 0;
}

/* Called in the child. Limits are not enforced here, but a process outside of the group could be
 * neither paused nor ended. */
static int enter_group(struct cgroup_host *cgroups, const char *group)
{
	AUTO_CLOSE int folder = -1;
	struct error ignored = {0};

	if (cgroups->ops->enter)
		return cgroups->ops->enter(cgroups, group, 0, &ignored);
	if (cgroups->ops->open(cgroups, group, &folder, &ignored) < 0)
		return -1;
	return file_poke(folder, "cgroup.procs", "0", &ignored);
}

/* Called in the child. The environment has two words, so nothing of the server's leaks. The child
 * enters the folder before it changes the user, who may not be able to enter its parents. */
static NORETURN void become_agent(struct sandbox *sandbox, int listen_fd)
{
	struct host *host = sandbox->sandboxes->host;
	const struct broker_options *o = host->options;
	char files[HOST_PATH_MAX], group[GROUP_NAME_SIZE];
	const char *argv[] = {"atoll-agent", "--listen-fd", "3", "--host-root", files, NULL};
	const char *envp[] = {"PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8",
	                      fault_entry("agent"), NULL};
	int null, agent;

	/* Until it executes the agent it may be frozen with all that it holds, locks included. */
	sandbox->sandboxes->events->on_child(sandbox->sandboxes->events);
	host_group_name(sandbox->slot, group);
	if (enter_group(host->cgroups, group) < 0)
		_exit(126);
	(void)snprintf(files, sizeof(files), "%s/host-files/%s", host->data_path, sandbox->id);
	(void)setsid();
	(void)umask(022);
	if (fchdir(host->folders[FOLDER_HOST_FILES]) < 0 || chdir(sandbox->id) < 0)
		_exit(126);
	if (setgroups(0, NULL) < 0 || setresgid(o->gid, o->gid, o->gid) < 0 ||
	    setresuid(o->uid, o->uid, o->uid) < 0)
		_exit(126);
	agent = fcntl(host->agent_fd, F_DUPFD_CLOEXEC, 16);
	listen_fd = fcntl(listen_fd, F_DUPFD_CLOEXEC, 16);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++)
		if (dup2(null, i) < 0)
			_exit(126);
	if (dup2(listen_fd, LISTEN_FD) < 0)
		_exit(126);
	(void)close_range(LISTEN_FD + 1, ~0u, CLOSE_RANGE_CLOEXEC);
	(void)syscall(SYS_execveat, agent, "", argv, envp, AT_EMPTY_PATH);
	_exit(127);
}

static int start_agent(struct sandbox *sandbox, int listen_fd, struct error *err)
{
	sandbox->pid = fork();
	if (sandbox->pid < 0)
		return FAIL_ERRNO(err, "fork");
	if (sandbox->pid == 0)
		become_agent(sandbox, listen_fd);
	if (pidfd_open_of(sandbox->pid, &sandbox->pidfd, err) < 0)
		return -1;
	return process_start_time(sandbox->pid, &sandbox->start_time, err);
}

static int make_group(struct sandbox *sandbox, struct error *err)
{
	struct host *host = sandbox->sandboxes->host;
	char group[GROUP_NAME_SIZE];

	if (slots_take(sandbox->sandboxes->slots, &sandbox->slot, err) < 0)
		return -1;
	host_group_name(sandbox->slot, group);
	if (host->cgroups->ops->make(host->cgroups, group, err) < 0)
		return -1;
	return host->cgroups->ops->limit(host->cgroups, group, &sandbox->limits, err);
}

static int start_in_group(struct sandbox *sandbox, struct error *err)
{
	AUTO_CLOSE int listen_fd = -1, folder = -1;

	if (make_group(sandbox, err) < 0)
		return -1;
	fault_point("broker", "host-group");
	if (make_files(sandbox, err) < 0)
		return -1;
	fault_point("broker", "host-files");
	if (make_socket(sandbox, &listen_fd, err) < 0)
		return -1;
	fault_point("broker", "host-socket");
	if (start_agent(sandbox, listen_fd, err) < 0)
		return -1;
	fault_point("broker", "host-agent");
	folder = openat(sandbox->sandboxes->host->folders[FOLDER_RUN_SANDBOXES], sandbox->id,
	                O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder < 0)
		return FAIL_ERRNO(err, "open the run folder of '%s'", sandbox->id);
	if (run_state_write(sandbox, folder, err) < 0)
		return -1;
	fault_point("broker", "host-state");
	return 0;
}

int sandbox_start_host(struct sandbox *sandbox, struct error *err)
{
	struct sandboxes *b = sandbox->sandboxes;
	struct error ignored = {0};

	if (start_in_group(sandbox, err) == 0)
		return 0;
	if (sandbox->pidfd >= 0)
		(void)!pidfd_signal(sandbox->pidfd, SIGKILL, &ignored);
	(void)!host_trash(b->host, FOLDER_RUN_SANDBOXES, sandbox->id, &ignored);
	if (!sandbox->restart)
		(void)!host_trash_files(b->host, sandbox->id, &ignored);
	if (sandbox->slot != SLOT_NONE)
		b->on_slot_free(b->context, &(struct cleanup_item){sandbox->slot, -1, -1});
	return -1;
}
