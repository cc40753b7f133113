/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/server/setup.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "cli/core/local.h"
#include "cli/server/tls.h"
#include "config/config.h"
#include "cli/core/command.h"

#define TLS_LISTEN "0.0.0.0:8443"
#define CONFIG_MODE 0640 /* it may hold a password */

extern char **environ;

static int add_step(struct machine_setup *s, const char *name, enum setup_state state,
                    const char *text)
{
	s->steps[s->step_count++] = (struct machine_step){name, state, text};
	return 0;
}

static int make_data(struct machine_setup *s, struct error *err)
{
	struct stat status;

	if (stat(s->data, &status) == 0 && S_ISDIR(status.st_mode))
		return add_step(s, "data folder", SETUP_KEPT, s->data);
	if (make_folders(s->data, 0711, err) < 0)
		return -1;
	return add_step(s, "data folder", SETUP_DONE, s->data);
}

static const char *parent_of(struct arena *a, const char *path)
{
	return arena_copy(a, (struct span){path, (size_t)(path_last(path) - path)});
}

/* A file that appeared meanwhile is kept. */
static int write_new(struct arena *a, const char *path, struct span text, bool *ret_made,
                     struct error *err)
{
	const char *fresh = arena_format(a, "%s.new", path);

	if (make_folders(parent_of(a, path), 0755, err) < 0 ||
	    file_write(AT_FDCWD, fresh, text, CONFIG_MODE, err) < 0)
		return -1;
	*ret_made = renameat2(AT_FDCWD, fresh, AT_FDCWD, path, RENAME_NOREPLACE) == 0;
	if (*ret_made)
		return 0;
	(void)unlink(fresh);
	return errno == EEXIST ? 0 : FAIL_ERRNO(err, "write '%s'", path);
}

static int write_config(struct machine_setup *s, struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(4096);
	bool made;

	buf_add_text(&text, "# Options of the server, a line each; atoll.yaml(5) lists them, and "
	                    "'atoll config' prints the\n# values in force. 'systemctl restart "
	                    "atoll' applies a change; sandboxes continue meanwhile.\n"
	                    "listen: 127.0.0.1:7777\n");
	if (arguments_has(&s->cli->args, "tls"))
		buf_add_text(&text, "tls_listen: " TLS_LISTEN "\n");
	if (write_new(s->cli->arena, s->config, buf_span(&text), &made, err) < 0)
		return -1;
	return add_step(s, "configuration", made ? SETUP_DONE : SETUP_KEPT, s->config);
}

/* The server reads DATA/atoll.yaml: a file there is the configuration, and else a link to it. */
static int make_config(struct machine_setup *s, struct error *err)
{
	const char *own = arena_format(s->cli->arena, "%s/atoll.yaml", s->data);
	struct stat status;

	if (lstat(own, &status) == 0 && !S_ISLNK(status.st_mode))
		return add_step(s, "configuration", SETUP_KEPT, own);
	if (write_config(s, err) < 0)
		return -1;
	if (symlink(s->config, own) == 0)
		return add_step(s, "link to it", SETUP_DONE, own);
	return errno == EEXIST ? add_step(s, "link to it", SETUP_KEPT, own)
	                       : FAIL_ERRNO(err, "make the link '%s'", own);
}

static int make_tls(struct machine_setup *s, struct error *err)
{
	const char *path = arena_format(s->cli->arena, "%s/tls/server.pem", s->data);

	if (!arguments_has(&s->cli->args, "tls"))
		return add_step(s, "TLS", SETUP_SKIPPED, "--tls makes an authority of its own");
	if (access(path, F_OK) == 0)
		return add_step(s, "TLS", SETUP_KEPT, path);
	if (tls_authority_make(s->cli, &path) < 0) {
		*err = *s->cli->err;
		return -1;
	}
	return add_step(s, "TLS", SETUP_DONE, path);
}

/* A configuration that was there before is not changed: its operator adds the line. */
static int check_tls_address(struct machine_setup *s, struct error *err)
{
	struct arena *a = s->cli->arena;
	const char *const flags[] = {arena_format(a, "data=%s", s->data), NULL};
	const struct config_source source = {.flags = flags, .environment = environ};
	struct config config;

	if (!arguments_has(&s->cli->args, "tls"))
		return 0;
	if (config_load(a, &source, &config, err) < 0)
		return -1;
	if (config.tls_listen[0])
		return add_step(s, "TLS address", SETUP_KEPT, config.tls_listen);
	return add_step(s, "TLS address", SETUP_SKIPPED,
	                arena_format(a,
	                             "add the line 'tls_listen: " TLS_LISTEN "' to %s/atoll.yaml",
	                             s->data));
}

/* Enables and starts the unit. Its output goes to standard error: standard output is the answer.
 * Returns its exit status. */
static int run_systemctl(struct error *err)
{
	posix_spawn_file_actions_t actions;
	char *argv[] = {(char[]){"systemctl"}, (char[]){"enable"}, (char[]){"--now"},
	                (char[]){SETUP_UNIT}, NULL};
	int failed, status;
	pid_t pid;

	(void)posix_spawn_file_actions_init(&actions);
	(void)posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
	failed = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
	(void)posix_spawn_file_actions_destroy(&actions);
	if (failed) {
		errno = failed;
		return FAIL_ERRNO(err, "run systemctl");
	}
	if (waitpid(pid, &status, 0) < 0)
		return FAIL_ERRNO(err, "wait for systemctl");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static int enable_unit(struct machine_setup *s, struct error *err)
{
	int status;

	if (access("/run/systemd/system", F_OK) < 0)
		return add_step(s, "service", SETUP_SKIPPED, "systemd does not run");
	if (strcmp(s->data, SETUP_UNIT_DATA) != 0)
		return add_step(s, "service", SETUP_SKIPPED,
		                "the unit is for " SETUP_UNIT_DATA " alone");
	if (local_server_runs(s->cli->arena, s->data)) {
		s->is_unit_started = true;
		return add_step(s, "service", SETUP_KEPT, "the server runs");
	}
	status = run_systemctl(err);
	if (status < 0)
		return -1;
	if (status > 0) {
		(void)FAIL(err, ERROR_SYSTEM,
		           "'systemctl enable --now " SETUP_UNIT "' ended with %d", status);
		return FAIL_HINT(err, "'journalctl -u atoll' says why; the unit is in the package "
		                      "'atoll'");
	}
	s->is_unit_started = true;
	return add_step(s, "service", SETUP_DONE, SETUP_UNIT);
}

int setup_make(struct machine_setup *s, struct error *err)
{
	if (make_data(s, err) < 0 || make_config(s, err) < 0 || make_tls(s, err) < 0 ||
	    check_tls_address(s, err) < 0)
		return -1;
	return enable_unit(s, err);
}
