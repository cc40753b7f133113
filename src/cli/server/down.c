/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "cli/core/ask.h"
#include "cli/server/commands.h"
#include "cli/core/local.h"
#include "cli/core/server.h"

#define END_MS 60000
#define ROUNDS_MAX 100
#define IDLE_ROUNDS_MAX 3 /* consecutive rounds without a stopped sandbox */
#define STOP_ALL "/api/sandbox/stop-all?for_good=true"

/* Each call returns after some seconds with the number of sandboxes left. From the first call on,
 * the server makes and starts no sandbox. */
static int stop_sandboxes(struct cli *cli, int64_t *ret_stopped)
{
	const struct server_call call = {.method = "POST", .path = STOP_ALL, .body = "{}"};
	const struct json_value *answer;
	int64_t stopped = 0, now = 0;
	unsigned idle_rounds = 0;

	for (unsigned i = 0; i < ROUNDS_MAX; i++) {
		if (server_call(cli, &call, &answer) < 0)
			return -1;
		now = json_get_whole(answer, "stopped", 0);
		stopped += now;
		if (json_get_whole(answer, "left", 0) == 0) {
			*ret_stopped = stopped;
			return 0;
		}
		idle_rounds = now == 0 ? idle_rounds + 1 : 0;
		if (idle_rounds == IDLE_ROUNDS_MAX)
			break;
	}
	(void)FAIL(cli->err, ERROR_CONFLICT, "some sandboxes did not stop");
	return FAIL_HINT(cli->err, "the server's log says why; the server keeps running");
}

/* The supervisor writes its pid into the file that it keeps locked. */
static int find_server(struct cli *cli, const struct local_server *local, int *ret_pidfd)
{
	const char *path = arena_format(cli->arena, "%s/run/atolld.lock", local->data_dir);
	AUTO(buf_done) struct buf text = BUF(64);
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	int64_t pid;

	if (fd < 0)
		return FAIL_ERRNO(cli->err, "open '%s'", path);
	if (flock(fd, LOCK_SH | LOCK_NB) == 0)
		return FAIL(cli->err, ERROR_NOT_FOUND, "no server runs on '%s'", local->data_dir);
	if (fd_read_to_end(fd, &text, cli->err) < 0 ||
	    span_parse_whole(buf_span(&text), 2, INT32_MAX, &pid, cli->err) < 0)
		return FAIL_CONTEXT(cli->err, "read '%s'", path);
	return pidfd_open_of((pid_t)pid, ret_pidfd, cli->err);
}

static int end_server(struct cli *cli, const struct local_server *local)
{
	AUTO_CLOSE int pidfd = -1;
	int ended;

	if (find_server(cli, local, &pidfd) < 0 || pidfd_signal(pidfd, SIGTERM, cli->err) < 0)
		return FAIL_CONTEXT(cli->err, "end the server");
	ended = fd_wait(pidfd, POLLIN, deadline_after(END_MS), cli->err);
	if (ended == 0)
		return FAIL(cli->err, ERROR_TIMEOUT, "the server did not end within %d s",
		            END_MS / 1000);
	return ended < 0 ? -1 : 0;
}

static int stop_everything(struct cli *cli)
{
	struct local_server local;
	int64_t stopped;

	if (local_server_find(cli->arena, &local, cli->err) < 0 ||
	    ask_first(cli, arena_format(cli->arena, "Stop every sandbox of '%s', and its server?",
	                                local.data_dir)) < 0 ||
	    server_connect_local(cli, &local) < 0 || stop_sandboxes(cli, &stopped) < 0 ||
	    end_server(cli, &local) < 0)
		return -1;
	if (cli->json)
		(void)printf("{\"stopped\":%" PRId64 "}\n", stopped);
	else
		(void)printf("%" PRId64
		             " sandboxes stopped, their files are kept; the server has ended\n",
		             stopped);
	return 0;
}

static const struct command_option options[] = {
        {"yes", NULL, "do not ask", .letter = 'y'},
        {0},
};

const struct cli_command command_down = {
        .name = "down",
        .usage = "[--yes]",
        .about = "stop every sandbox of this data folder, and its server",
        .more = "The data folder is that of ATOLL_DATA, or the default. Files are kept: 'atoll\n"
                "start' starts a sandbox again. If no server runs, one is started first.",
        .options = options,
        .run = stop_everything,
};
