/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/server/trial.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/id.h"

#define START_MS 30000
#define END_MS 30000   /* between SIGTERM and SIGKILL */
#define ROUND_MS 10000 /* a round of /readyz takes at most 7 s */
#define LOOK_MS 20
#define DEPTH_MAX 64
#define KEEPER_FD 3
#define NAME "/.atoll-doctor-"
#define NAME_RANDOM 10

static int remove_below(int parent, const char *name, dev_t device, unsigned depth);

static int remove_entries(int folder, dev_t device, unsigned depth)
{
	DIR *entries = fdopendir(folder);
	const struct dirent *entry;
	int result = 0;

	if (!entries) {
		(void)close(folder);
		return -1;
	}
	while ((entry = readdir(entries)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
		    remove_below(dirfd(entries), entry->d_name, device, depth + 1) < 0)
			result = -1;
	(void)closedir(entries);
	return result;
}

/* Follows no link and stays on one filesystem. */
static int remove_below(int parent, const char *name, dev_t device, unsigned depth)
{
	struct stat status;
	int folder;

	if (unlinkat(parent, name, 0) == 0)
		return 0;
	folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder < 0)
		return -1;
	if (depth > DEPTH_MAX || fstat(folder, &status) < 0 || status.st_dev != device) {
		(void)close(folder);
		return -1;
	}
	return remove_entries(folder, device, depth) < 0 ? -1
	                                                 : unlinkat(parent, name, AT_REMOVEDIR);
}

static int remove_folder(const char *path)
{
	struct stat status;

	if (lstat(path, &status) < 0)
		return -1;
	return remove_below(AT_FDCWD, path, status.st_dev, 0);
}

static bool is_folder_on(const char *folder, dev_t device)
{
	struct stat status;

	return stat(folder, &status) == 0 && S_ISDIR(status.st_mode) && status.st_dev == device;
}

/* Beside the data folder, or in it if it is a mount point. */
static int choose_folder(struct arena *a, const char *data_dir, const char **ret, struct error *err)
{
	const char *parent = dirname(arena_text(a, data_dir));
	char name[NAME_RANDOM + 1];
	struct stat status;
	char *absolute, *path;

	while (stat(parent, &status) < 0 && strcmp(parent, "/") != 0 && strcmp(parent, ".") != 0)
		parent = dirname(arena_text(a, parent));
	if (stat(data_dir, &status) == 0 && !is_folder_on(parent, status.st_dev))
		parent = data_dir;
	absolute = realpath(parent, NULL);
	if (!absolute)
		return FAIL_ERRNO(err, "find the folder of '%s'", data_dir);
	id_random_text(name, sizeof(name));
	path = arena_format(a, "%s" NAME "%s", strcmp(absolute, "/") == 0 ? "" : absolute, name);
	free(absolute);
	if (strlen(path) + strlen("/s") >= sizeof(((struct sockaddr_un *)NULL)->sun_path)) {
		(void)FAIL(err, ERROR_INVALID, "the path of a socket would be too long: '%s/s'",
		           path);
		return FAIL_HINT(err, "use a data folder with a shorter path");
	}
	*ret = path;
	return 0;
}

static bool use_log(const char *path)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);

	return null >= 0 && log >= 0 && dup2(null, 0) >= 0 && dup2(log, 1) >= 0 &&
	       dup2(log, 2) >= 0;
}

/* Blocks rather than ignores: a signal that reaches the child before its exec must end it. */
static void set_signals(int how)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	sigset_t set;

	(void)sigemptyset(&set);
	for (unsigned i = 0; i < COUNT_OF(signals); i++) {
		(void)signal(signals[i], SIG_DFL);
		(void)sigaddset(&set, signals[i]);
	}
	(void)sigprocmask(how, &set, NULL);
}

/* Clears the environment: its variables are options and may name another server's database. */
static pid_t start_server(const char *program, char *const *argv)
{
	char *const environment[] = {
	        (char[]){"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
	        (char[]){"LC_ALL=C.UTF-8"}, NULL};
	pid_t keeper = getpid(), pid = fork();

	if (pid != 0)
		return pid;
	if (prctl(PR_SET_PDEATHSIG, SIGTERM) < 0 || getppid() != keeper || chdir("/") < 0)
		_exit(1);
	set_signals(SIG_UNBLOCK);
	(void)execve(program, argv, environment);
	_exit(1);
}

/* Waits until no round of /readyz runs. A server that ends within a round leaves its sandbox to its
 * next start, and there is none. */
static void wait_for_round(const char *path, int pidfd)
{
	static const char question[] =
	        "GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct pollfd waits[] = {{.fd = fd, .events = POLLIN}, {.fd = pidfd, .events = POLLIN}};

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0 &&
	    send(fd, question, strlen(question), MSG_NOSIGNAL) > 0)
		(void)poll(waits, 2, ROUND_MS);
}

static void end_server(const char *path, int pidfd, pid_t pid)
{
	struct error ignored = {0};

	wait_for_round(path, pidfd);
	(void)!pidfd_signal(pidfd, SIGTERM, &ignored);
	if (fd_wait(pidfd, POLLIN, deadline_after(END_MS), &ignored) <= 0)
		(void)!pidfd_signal(pidfd, SIGKILL, &ignored);
	(void)waitpid(pid, NULL, 0);
}

static void wait_for_either(int pidfd)
{
	struct pollfd waits[] = {{.fd = KEEPER_FD, .events = POLLIN},
	                         {.fd = pidfd, .events = POLLIN}};

	while (poll(waits, 2, -1) < 0)
		continue;
}

/* Makes the folder in its own session, where a signal to the doctor's group cannot interrupt. The
 * exit status is the errno of a failed mkdir. Writes a byte if the server ends by itself. */
static _Noreturn void keep_server(const struct local_server *server, const char *program,
                                  char *const *argv, int life_fd)
{
	struct error ignored = {0};
	int pidfd = -1;
	pid_t pid;

	set_signals(SIG_BLOCK);
	if (setsid() < 0 || dup2(life_fd, KEEPER_FD) < 0 ||
	    fcntl(KEEPER_FD, F_SETFD, FD_CLOEXEC) < 0)
		_exit(1);
	closefrom(KEEPER_FD + 1);
	if (mkdir(server->data_dir, 0700) < 0)
		_exit(errno);
	if (!use_log(server->log)) {
		int failed = errno;

		(void)remove_folder(server->data_dir);
		_exit(failed);
	}
	pid = start_server(program, argv);
	if (pid > 0 && pidfd_open_of(pid, &pidfd, &ignored) == 0)
		wait_for_either(pidfd);
	(void)send(KEEPER_FD, "e", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
	(void)!fd_wait(KEEPER_FD, POLLIN, DEADLINE_NEVER, &ignored);
	if (pid > 0 && pidfd >= 0)
		end_server(server->socket, pidfd, pid);
	_exit(remove_folder(server->data_dir) < 0 ? ENOTEMPTY : 0);
}

static char **make_argv(struct arena *a, const struct local_server *server,
                        const struct config *config)
{
	char *const words[] = {
	        arena_text(a, "atolld"),
	        arena_format(a, "--data=%s", server->data_dir),
	        arena_format(a, "--listen=unix:%s", server->socket),
	        arena_format(a, "--provider=%s", config->provider),
	        arena_format(a, "--ready-networks=%s", config->ready_networks),
	        /* Its folder may be on another filesystem, without quotas. */
	        arena_format(a, "--disk-quota=%s",
	                     strcmp(config->disk_quota, "project") == 0 ? "auto"
	                                                                : config->disk_quota),
	        arena_format(a, "--disk-watch=%s", config->disk_watch),
	        arena_text(a, "--ready-probe-every=1h"), /* a single round */
	        arena_text(a, "--default-template=host"),
	        arena_text(a, "--cells=0"),
	        arena_text(a, "--drain=0s"),
	        NULL,
	};
	char **argv = ARENA_ARRAY(a, char *, COUNT_OF(words));

	memcpy(argv, words, sizeof(words));
	return argv;
}

static int wait_until_it_listens(struct arena *a, const struct trial_server *t, struct error *err)
{
	int64_t deadline = deadline_after(START_MS);
	int ended = 0;

	while (ended == 0 && !local_server_answers(&t->server)) {
		if (deadline_poll_ms(deadline) == 0) {
			local_server_show_log(a, &t->server);
			return FAIL(err, ERROR_TIMEOUT,
			            "the temporary server does not listen after %d s",
			            START_MS / 1000);
		}
		ended = fd_wait(t->keeper_fd, POLLIN, deadline_after(LOOK_MS), err);
	}
	if (ended < 0)
		return -1;
	if (ended > 0) {
		local_server_show_log(a, &t->server);
		(void)FAIL(err, ERROR_UNAVAILABLE, "the temporary server did not start");
		return FAIL_HINT(err, "the lines of its log above say why");
	}
	return 0;
}

static int start_keeper(struct arena *a, const struct config *config, struct trial_server *t,
                        struct error *err)
{
	char **argv = make_argv(a, &t->server, config);
	const char *program;
	int ends[2];

	if (server_program_find(a, &program, err) < 0)
		return -1;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return FAIL_ERRNO(err, "make a socket pair");
	t->keeper = fork();
	if (t->keeper == 0) {
		(void)close(ends[0]);
		keep_server(&t->server, program, argv, ends[1]);
	}
	(void)close(ends[1]);
	t->keeper_fd = ends[0];
	if (t->keeper < 0) {
		fd_forget(&t->keeper_fd);
		return FAIL_ERRNO(err, "start a child");
	}
	return 0;
}

int trial_open(struct arena *a, const char *data_dir, const struct config *config,
               struct trial_server *ret, struct error *err)
{
	struct trial_server t = {.keeper_fd = -1};
	struct error ending = {0};

	if (geteuid() != 0) {
		(void)FAIL(err, ERROR_FORBIDDEN, "a server that makes sandboxes needs root");
		return FAIL_HINT(err, "use sudo, or set ATOLL_API_URL to a server that runs");
	}
	if (choose_folder(a, data_dir, &t.server.data_dir, err) < 0)
		return -1;
	t.server.socket = arena_format(a, "%s/s", t.server.data_dir);
	t.server.log = arena_format(a, "%s/doctor.log", t.server.data_dir);
	if (start_keeper(a, config, &t, err) < 0)
		return -1;
	if (wait_until_it_listens(a, &t, err) < 0) {
		if (trial_close(&t, &ending) < 0)
			*err = ending;
		return -1;
	}
	*ret = t;
	return 0;
}

int trial_close(struct trial_server *trial, struct error *err)
{
	int status;

	fd_forget(&trial->keeper_fd);
	if (waitpid(trial->keeper, &status, 0) < 0)
		return FAIL_ERRNO(err, "wait for the end of the temporary server");
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	errno = WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
	(void)FAIL_ERRNO(err, "make and remove the temporary folder '%s'", trial->server.data_dir);
	return FAIL_HINT(err, "make the folder above it writable and give the disk room; remove it "
	                      "by hand if it is there and no process uses it");
}
