/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/core/local.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "cli/core/text_out.h"
#include "config/config.h"

#define START_TIMEOUT_MS 60000
#define QUIET_MS 1000 /* shorter starts print no message */
#define PROBE_EVERY_MS 20
#define LOG_LINES_SHOWN 10
#define LOG_BYTES_SHOWN 4096

extern char **environ;

int server_program_find(struct arena *a, const char **ret, struct error *err)
{
	char self[4096];
	ssize_t size = readlink("/proc/self/exe", self, sizeof(self) - 1);
	const char *path;

	if (size < 0)
		return FAIL_ERRNO(err, "find this program's own file");
	self[size] = '\0';
	*strrchr(self, '/') = '\0';
	path = arena_format(a, "%s/atolld", self);
	if (access(path, X_OK) < 0) {
		(void)FAIL(err, ERROR_UNAVAILABLE, "this installation has no server: no '%s'",
		           path);
		return FAIL_HINT(err, "set ATOLL_API_URL to a server (http://HOST:7777) and "
		                      "ATOLL_API_KEY to a key of it; a server on this machine "
		                      "needs the package 'atoll' instead of 'atoll-cli'");
	}
	*ret = path;
	return 0;
}

int local_data_dir(struct arena *a, const char **ret, struct error *err)
{
	const char *named = getenv("ATOLL_DATA");

	if (!named || !named[0])
		return config_data_dir_default(a, environ, ret, err);
	*ret = named;
	return 0;
}

int local_server_find(struct arena *a, struct local_server *ret, struct error *err)
{
	struct sockaddr_un address;
	struct local_server found = {0};
	const char *folder;
	char *absolute;

	if (local_data_dir(a, &folder, err) < 0)
		return -1;
	absolute = realpath(folder, NULL); /* NULL if it does not exist */
	found.data_dir = arena_text(a, absolute ? absolute : folder);
	free(absolute);
	found.socket = arena_format(a, "%s/run/api.sock", found.data_dir);
	found.log = arena_format(a, "%s/log/atolld.log", found.data_dir);
	if (strlen(found.socket) >= sizeof(address.sun_path)) {
		(void)FAIL(err, ERROR_INVALID, "the path of the socket is too long: '%s'",
		           found.socket);
		return FAIL_HINT(err, "set ATOLL_DATA to a shorter path");
	}
	*ret = found;
	return 0;
}

/* Returns the connected socket, or -1. */
static int connect_socket(const struct local_server *server)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", server->socket);
	if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return -1;
	return TAKE_FD(fd);
}

bool local_server_answers(const struct local_server *server)
{
	AUTO_CLOSE int fd = connect_socket(server);

	return fd >= 0;
}

bool local_server_runs(struct arena *a, const char *data_dir)
{
	AUTO_CLOSE int fd = open(arena_format(a, "%s/run/atolld.lock", data_dir),
	                         O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	return fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0;
}

int make_folders(const char *path, mode_t mode, struct error *err)
{
	char part[4096];

	for (const char *slash = path; slash;) {
		slash = strchr(slash + 1, '/');
		(void)snprintf(part, sizeof(part), "%.*s",
		               (int)(slash ? (size_t)(slash - path) : strlen(path)), path);
		if (mkdir(part, mode) < 0 && errno != EEXIST)
			return FAIL_ERRNO(err, "make the folder '%s'", part);
	}
	return 0;
}

static int open_lock(struct arena *a, const struct local_server *server, int *ret_fd,
                     struct error *err)
{
	const char *path = arena_format(a, "%s/run/start.lock", server->data_dir);
	AUTO_CLOSE int fd = -1;

	if (make_folders(arena_format(a, "%s/run", server->data_dir), 0755, err) < 0 ||
	    make_folders(arena_format(a, "%s/log", server->data_dir), 0755, err) < 0)
		return -1;
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 || flock(fd, LOCK_EX) < 0)
		return FAIL_ERRNO(err, "lock '%s'", path);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

/* Starts the server in its own session, so that neither Ctrl-C nor the end of this terminal reaches
 * it. */
static int spawn_server(struct arena *a, const struct local_server *server, const char *program,
                        pid_t *ret_pid, struct error *err)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none;
	int failed;
	char *argv[] = {
	        (char[]){"atolld"},
	        arena_format(a, "--data=%s", server->data_dir),
	        arena_format(a, "--listen=unix:%s", server->socket),
	        (char[]){"--idle-exit=30m"},
	        NULL,
	};

	(void)sigemptyset(&none);
	(void)posix_spawn_file_actions_init(&actions);
	(void)posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	(void)posix_spawn_file_actions_addopen(&actions, 1, server->log,
	                                       O_WRONLY | O_CREAT | O_APPEND, 0600);
	(void)posix_spawn_file_actions_adddup2(&actions, 1, 2);
	(void)posix_spawn_file_actions_addclosefrom_np(&actions, 3);
	(void)posix_spawn_file_actions_addchdir_np(&actions, "/");
	(void)posix_spawnattr_init(&attributes);
	(void)posix_spawnattr_setsigmask(&attributes, &none);
	(void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
	failed = posix_spawn(ret_pid, program, &actions, &attributes, argv, environ);
	(void)posix_spawn_file_actions_destroy(&actions);
	(void)posix_spawnattr_destroy(&attributes);
	if (failed) {
		errno = failed;
		return FAIL_ERRNO(err, "start '%s'", program);
	}
	return 0;
}

void local_server_show_log(struct arena *a, const struct local_server *server)
{
	AUTO(buf_done) struct buf text = BUF(LOG_BYTES_SHOWN);
	AUTO_CLOSE int fd = open(server->log, O_RDONLY | O_CLOEXEC);
	const char *start;
	struct error ignored;
	struct span rest, line;
	unsigned lines = 0;
	off_t size;

	if (fd < 0)
		return;
	size = lseek(fd, 0, SEEK_END);
	(void)lseek(fd, size > LOG_BYTES_SHOWN ? size - LOG_BYTES_SHOWN : 0, SEEK_SET);
	if (fd_read_to_end(fd, &text, &ignored) < 0 || text.size == 0)
		return;
	start = text.data + text.size - 1;
	while (start > text.data && (start[-1] != '\n' || ++lines < LOG_LINES_SHOWN))
		start--;
	(void)fprintf(stderr, "The last lines of %s:\n", server->log);
	rest = span_of(start);
	while (rest.size > 0) {
		(void)span_split(&rest, '\n', &line);
		(void)fprintf(stderr, "  %s\n", text_out_safe(a, arena_copy(a, line)));
	}
}

/* Waits for an answer: a listening socket alone does not prove that the server is ready. Returns
 * early if the server dies. */
static bool has_answered(const struct local_server *server, int pidfd, int64_t deadline)
{
	static const char question[] =
	        "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
	AUTO_CLOSE int fd = connect_socket(server);
	struct pollfd waits[] = {{.fd = fd, .events = POLLIN}, {.fd = pidfd, .events = POLLIN}};
	char byte;

	if (fd < 0 || send(fd, question, strlen(question), MSG_NOSIGNAL) < 0)
		return false;
	return poll(waits, 2, deadline_poll_ms(deadline)) > 0 && waits[0].revents != 0 &&
	       recv(fd, &byte, 1, MSG_DONTWAIT) == 1;
}

static int wait_until_it_answers(struct arena *a, const struct local_server *server, pid_t pid,
                                 struct error *err)
{
	int64_t deadline = deadline_after(START_TIMEOUT_MS), quiet_until = deadline_after(QUIET_MS);
	AUTO_CLOSE int pidfd = -1;
	bool told = false;

	if (pidfd_open_of(pid, &pidfd, err) < 0)
		return -1;
	while (!has_answered(server, pidfd, deadline)) {
		int ended = fd_wait(pidfd, POLLIN, deadline_after(PROBE_EVERY_MS), err);

		if (ended < 0)
			return -1;
		if (ended > 0) {
			(void)waitpid(pid, NULL, 0);
			local_server_show_log(a, server);
			return FAIL(err, ERROR_UNAVAILABLE, "the local server did not start");
		}
		if (deadline_poll_ms(deadline) == 0) {
			local_server_show_log(a, server);
			return FAIL(err, ERROR_TIMEOUT, "the local server does not answer");
		}
		if (!told && deadline_poll_ms(quiet_until) == 0) {
			(void)fprintf(stderr, "Starting the local server (log: %s) ...\n",
			              server->log);
			told = true;
		}
	}
	return 0;
}

#define CURE_NOT_ROOT                                                                              \
	"use sudo, or set ATOLL_API_URL and ATOLL_API_KEY to a server that runs and a key of it"

/* Before anything is made: a start by another user would leave folders that help nobody. */
static int check_start(struct arena *a, const struct local_server *server, const char **ret_program,
                       struct error *err)
{
	if (server_program_find(a, ret_program, err) < 0)
		return -1;
	if (geteuid() == 0)
		return 0;
	(void)FAIL(err, ERROR_FORBIDDEN,
	           "no server is configured, and only root can start one (its data: '%s')",
	           server->data_dir);
	return FAIL_HINT(err, CURE_NOT_ROOT);
}

static int start_server(struct arena *a, const struct local_server *server, struct error *err)
{
	AUTO_CLOSE int lock = -1;
	const char *program;
	pid_t pid;

	if (check_start(a, server, &program, err) < 0 || open_lock(a, server, &lock, err) < 0)
		return -1;
	if (local_server_answers(server))
		return 0;
	if (spawn_server(a, server, program, &pid, err) < 0)
		return -1;
	return wait_until_it_answers(a, server, pid, err);
}

static int read_key(struct arena *a, struct local_server *server, struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(1024);
	const char *path = arena_format(a, "%s/admin.key", server->data_dir);

	if (file_read(AT_FDCWD, path, &text, err) < 0) {
		if (err->code == ERROR_FORBIDDEN)
			error_hint(err, CURE_NOT_ROOT);
		return FAIL_CONTEXT(err, "key of the local server");
	}
	server->key =
	        arena_copy(a, (struct span){buf_text(&text), strcspn(buf_text(&text), "\r\n")});
	return 0;
}

int local_server_start(struct arena *a, struct local_server *server, struct error *err)
{
	if (!local_server_answers(server) && start_server(a, server, err) < 0)
		return -1;
	return read_key(a, server, err);
}
