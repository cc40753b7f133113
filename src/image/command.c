/* SPDX-License-Identifier: Apache-2.0 */
#include "image/command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "image/ratio.h"
#include "image/failure.h"
#include "image/progress.h"
#include "image/tree.h"

#define LOOK_MS 1000 /* interval of the checks of the size limit and of the progress reader */
#define LINE_MAX_ 1024
#define ENV_MAX 32

/* Programs get only the network settings of the daemon's environment. */
static const struct {
	const char *name;
	/* A proxy for HTTP alone would be bypassed by TLS. */
	enum { FOR_ANY_WAY, FOR_PROXIES, IS_TLS_PROXY } use;
} passed_env[] = {{"http_proxy", FOR_PROXIES},   {"https_proxy", IS_TLS_PROXY},
                  {"no_proxy", FOR_PROXIES},     {"HTTP_PROXY", FOR_PROXIES},
                  {"HTTPS_PROXY", IS_TLS_PROXY}, {"NO_PROXY", FOR_PROXIES},
                  {"SSL_CERT_FILE", FOR_ANY_WAY}};

bool command_has_proxy(void)
{
	for (size_t i = 0; i < COUNT_OF(passed_env); i++) {
		const char *value = getenv(passed_env[i].name);

		if (passed_env[i].use == IS_TLS_PROXY && value && *value)
			return true;
	}
	return false;
}

static bool find_program(const char *program, char *ret, size_t size)
{
	struct span path = SPAN(COMMAND_PATH), folder;
	bool more;

	do {
		more = span_split(&path, ':', &folder);
		(void)snprintf(ret, size, "%.*s/%s", (int)folder.size, folder.data, program);
		if (access(ret, X_OK) == 0)
			return true;
	} while (more);
	return false;
}

int command_require(const char *program, struct error *err)
{
	char path[128];

	if (find_program(program, path, sizeof(path)))
		return 0;
	(void)FAIL(err, ERROR_UNSUPPORTED, "'%s' is not installed on this machine", program);
	/* The Debian package of each program has the program's name. */
	return FAIL_HINT(err, "apt-get install %s", program);
}

/* A text per variable, valid as long as the program or its caller. */
static void fill_env(const struct image_command *command, const char *env[ENV_MAX])
{
	static char passed[COUNT_OF(passed_env)][1024];
	unsigned count = 0;

	env[count++] = "PATH=" COMMAND_PATH;
	env[count++] = "LANG=C.UTF-8";
	env[count++] = "HOME=/nonexistent";
	env[count++] = "DEBIAN_FRONTEND=noninteractive";
	for (size_t i = 0; i < COUNT_OF(passed_env); i++) {
		bool is_wanted = command->network_fd <= 0 || passed_env[i].use == FOR_ANY_WAY;
		const char *value = is_wanted ? getenv(passed_env[i].name) : NULL;
		int size = value ? snprintf(passed[i], sizeof(passed[i]), "%s=%s",
		                            passed_env[i].name, value)
		                 : 0;
		if (size > 0 && (size_t)size < sizeof(passed[i]))
			env[count++] = passed[i];
	}
	for (size_t i = 0; command->env && command->env[i] && count < ENV_MAX - 1; i++)
		env[count++] = command->env[i];
	env[count] = NULL;
}

static int exec_command(void *context)
{
	const struct image_command *command = context;
	const char *env[ENV_MAX];
	char path[128];

	if (find_program(command->argv[0], path, sizeof(path))) {
		fill_env(command, env);
		execve(path, (char *const *)(uintptr_t)command->argv,
		       (char *const *)(uintptr_t)env);
	}
	fprintf(stderr, "error: run '%s': %s\n", command->argv[0], strerror(errno));
	return 127;
}

struct running_command {
	const struct image_spec *spec;
	const struct image_command *command;
	int output_fd;
	pid_t pid;
	struct buf line;
	struct command_failure failure;
	int64_t look_at; /* time of the next check */
};

static void take_output(struct running_command *r, const char *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (bytes[i] != '\n' && bytes[i] != '\r') {
			buf_add_byte(&r->line, bytes[i]);
			continue;
		}
		failure_note(&r->failure, buf_text(&r->line));
		if (r->command->on_line && r->line.size > 0)
			r->command->on_line(r->command->line_context, buf_text(&r->line));
		buf_reset(&r->line);
	}
}

/* The reasons to end the program. A large folder is measured less often, so that measuring stays
 * cheap. */
static int check_limits(struct running_command *r, struct error *err)
{
	int64_t started = clock_monotonic_ms(), bytes = 0;

	if (progress_is_abandoned(r->spec->progress_fd))
		return FAIL(err, ERROR_TIMEOUT, "given up: nobody waits for it any more");
	if (r->command->measured && tree_size(r->command->measured, &bytes, err) < 0)
		return -1;
	if (bytes > r->spec->size_max)
		return FAIL(err, ratio_size_code(r->spec->size_max),
		            "larger than %lld MiB when unpacked",
		            (long long)(r->spec->size_max >> 20));
	if (bytes > 0)
		progress_tell_size(r->spec->progress_fd, bytes);
	if (r->command->packed_bytes &&
	    ratio_is_exceeded(RATIO_LIMIT, r->command->packed_bytes, bytes))
		return FAIL(err, ERROR_TOO_LARGE, "more than %d times as large when unpacked",
		            RATIO_MAX);
	r->look_at = deadline_after(LOOK_MS + 10 * (clock_monotonic_ms() - started));
	return 0;
}

static int read_output(struct running_command *r, struct error *err)
{
	char bytes[4096];

	for (;;) {
		int ready = fd_wait(r->output_fd, POLLIN, r->look_at, err);
		if (ready < 0)
			return -1;
		ssize_t got = ready ? read(r->output_fd, bytes, sizeof(bytes)) : -1;
		if (got == 0) {
			take_output(r, "\n", 1);
			return 0;
		}
		if (got > 0)
			take_output(r, bytes, (size_t)got);
		else if (ready && errno != EINTR)
			return FAIL_ERRNO(err, "read the output of a program");
		if (deadline_poll_ms(r->look_at) == 0 && check_limits(r, err) < 0)
			return -1;
	}
}

static int reap_command(struct running_command *r, bool kill_it)
{
	int status = 0;

	/* The program is process 1 of its namespace: its children end with it. */
	if (kill_it)
		(void)kill(r->pid, SIGKILL);
	while (waitpid(r->pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int start_command(struct running_command *r, struct error *err)
{
	const struct image_command *command = r->command;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return FAIL_ERRNO(err, "make a pipe");
	struct jail jail = {
	        .folder_fd = command->folder_fd,
	        .strict = command->strict,
	        .read_only = command->read_only,
	        .network = command->network,
	        .network_fd = command->network_fd,
	        .source_fd = command->source_fd,
	        .read_fd = command->read_fd,
	        .output_fd = ends[1],
	        .run = command->argv ? exec_command : command->function,
	        .context = command->argv ? (void *)(uintptr_t)command : command->context,
	};
	int ret = jail_start(&jail, &r->pid, err);
	close(ends[1]);
	r->output_fd = ends[0];
	return ret;
}

static void running_done(struct running_command *r)
{
	auto_close(&r->output_fd);
	buf_done(&r->line);
}

int command_run(const struct image_spec *spec, const struct image_command *command,
                struct error *err)
{
	AUTO(running_done) struct running_command r = {
	        .spec = spec, .command = command, .output_fd = -1, .line = BUF(LINE_MAX_)};

	if (command->argv && command_require(command->argv[0], err) < 0)
		return -1;
	if (start_command(&r, err) < 0)
		return -1;
	int followed = read_output(&r, err);
	int status = reap_command(&r, followed < 0);
	if (followed < 0)
		return -1;
	if (status != 0)
		return failure_report(&r.failure, command->argv ? command->argv[0] : "unpack",
		                      status, err);
	return command->measured ? check_limits(&r, err) : 0;
}
