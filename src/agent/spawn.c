/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "agent/listener.h"
#include "agent/base_dir.h"
#include "agent/process.h"
#include "agent/reverse.h"
#include "agent/warm.h"
#include "wire/agent_path.h"
#include "wire/agent_secrets.h"

#define PATH_PARTS_MAX 64
#define OWN_ENV_MAX 8
#define IMAGE_ENV_MAX 256
#define HOST_SHELL "/bin/sh"

static bool has_same_key(const char *a, const char *b)
{
	size_t size = strcspn(a, "=");

	return strncmp(a, b, size) == 0 && (b[size] == '=' || b[size] == '\0');
}

static const char *env_get(const char *const *env, const char *key)
{
	for (; *env; env++)
		if (has_same_key(key, *env) && (*env)[strlen(key)] == '=')
			return *env + strlen(key) + 1;
	return NULL;
}

/* Adds the variable, or replaces the one with the same key. */
static void env_put(const char **env, size_t *count, const char *entry)
{
	for (size_t i = 0; i < *count; i++) {
		if (has_same_key(entry, env[i])) {
			env[i] = entry;
			return;
		}
	}
	env[(*count)++] = entry;
}

/* Commands never get the agent's own environment, which may hold secrets of the host. Only where
 * the environment is the image's they get that. */
const char **spawn_env(struct arena *arena, const struct agent *a, const struct user *user,
                       const struct agent_exec *exec)
{
	const char *const own[OWN_ENV_MAX] = {
	        arena_format(arena, "HOME=%s", user->home),
	        arena_format(arena, "USER=%s", user->name),
	        arena_format(arena, "LOGNAME=%s", user->name),
	        arena_format(arena, "SHELL=%s", user->shell),
	        "PATH=" AGENT_PATH_DEFAULT,
	        "LANG=C.UTF-8",
	        a->home ? arena_format(arena, "ATOLL_PROJECT_DIR=%s", a->home) : NULL,
	        exec->flags & AGENT_EXEC_TTY ? "TERM=xterm-256color" : NULL,
	};
	const char **env =
	        ARENA_ARRAY(arena, const char *,
	                    OWN_ENV_MAX + IMAGE_ENV_MAX + AGENT_ENV_MAX + AGENT_SECRETS_MAX + 1);
	const char *const *image = reverse_variables(a);
	size_t count = 0;

	for (size_t i = 0; i < OWN_ENV_MAX; i++)
		if (own[i])
			env[count++] = own[i];
	for (size_t i = 0; i < IMAGE_ENV_MAX && image[i]; i++)
		env_put(env, &count, image[i]);
	for (const char **entry = exec->env; *entry; entry++)
		env_put(env, &count, *entry);
	for (const char **entry = exec->secrets; entry && *entry; entry++)
		env_put(env, &count, *entry);
	return env;
}

/* A name with a slash is a path. The command's own process looks for other names in PATH, with its
 * own rights. */
const char **spawn_paths(struct arena *arena, const char *name, const char *const *env)
{
	const char **paths = ARENA_ARRAY(arena, const char *, PATH_PARTS_MAX + 1);
	struct span rest = span_of(env_get(env, "PATH")), part;
	size_t count = 0;
	bool more = !strchr(name, '/');

	if (!more)
		paths[count++] = name;
	while (more && count < PATH_PARTS_MAX) {
		more = span_split(&rest, ':', &part);
		if (part.size)
			paths[count++] =
			        arena_format(arena, "%.*s/%s", (int)part.size, part.data, name);
	}
	return paths;
}

static int check_env(const struct agent_exec *exec, struct error *err)
{
	for (const char **entry = exec->env; *entry; entry++)
		if (!strchr(*entry, '=') || (*entry)[0] == '=')
			return FAIL(err, ERROR_INVALID, "'%s' is not KEY=value", *entry);
	for (const char **entry = exec->secrets; entry && *entry; entry++)
		if ((*entry)[0] == '=')
			return FAIL(err, ERROR_INVALID, "a secret has no name");
	return 0;
}

/* Without namespaces every command runs as the agent's own user of the host, whatever user it
 * names. That user's home and login shell on the host are not the sandbox's. */
static int set_own_user(const char *home, struct user *ret, struct error *err)
{
	char number[16];
	struct user user;

	(void)snprintf(number, sizeof(number), "%u", geteuid());
	if (user_find(number, &user, err) < 0)
		return -1;
	if (strlen(home) >= sizeof(user.home))
		return FAIL(err, ERROR_INVALID, "sandbox folder has too long a path");
	memcpy(user.home, home, strlen(home) + 1);
	memcpy(user.shell, HOST_SHELL, sizeof(HOST_SHELL));
	*ret = user;
	return 0;
}

static int set_user(struct process *p, const struct agent_exec *exec, struct error *err)
{
	p->user = ARENA_NEW(&p->spawn_arena, struct user);
	if (p->agent->home)
		return set_own_user(p->agent->home, p->user, err);
	if (user_find(exec->user, p->user, err) < 0)
		return -1;
	if (exec->user[0] && geteuid() == 0)
		p->spawn.user = p->user;
	return 0;
}

/* A relative path begins at the user's home, as "~" does. */
static const char *named_folder(struct process *p, const char *cwd)
{
	const char *home = p->user->home;

	if (cwd[0] == '/')
		return base_dir_own_path(p->agent->home, cwd);
	if (cwd[0] == '~' && (cwd[1] == '/' || cwd[1] == '\0'))
		cwd += 1 + (cwd[1] == '/');
	return base_dir_own_path(p->agent->home, arena_format(&p->spawn_arena, "%s/%s", home, cwd));
}

/* A command runs without a home, but not without a folder that the request names. */
static const char *choose_folder(struct process *p, const struct agent_exec *exec)
{
	if (exec->cwd[0])
		return named_folder(p, exec->cwd);
	if (p->agent->home || access(p->user->home, X_OK) < 0)
		return "/";
	return p->user->home;
}

static int open_pipe(struct process *p, unsigned stream, struct error *err)
{
	struct watch *watch = &p->out[stream].watch;
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return FAIL_ERRNO(err, "make a pipe");
	watch->fd = fds[0];
	p->spawn.fds[1 + stream] = fds[1];
	return fcntl(fds[0], F_SETFL, O_NONBLOCK) < 0 ? FAIL_ERRNO(err, "make a pipe") : 0;
}

static int open_stdin(struct process *p, const struct agent_exec *exec, struct error *err)
{
	int fds[2];

	if (!(exec->flags & AGENT_EXEC_STDIN) && exec->stdin_bytes.size == 0) {
		p->spawn.fds[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
		return p->spawn.fds[0] < 0 ? FAIL_ERRNO(err, "open '/dev/null'") : 0;
	}
	if (pipe2(fds, O_CLOEXEC) < 0)
		return FAIL_ERRNO(err, "make a pipe");
	p->spawn.fds[0] = fds[0];
	p->in.fd = fds[1];
	return fcntl(fds[1], F_SETFL, O_NONBLOCK) < 0 ? FAIL_ERRNO(err, "make a pipe") : 0;
}

/* The slave is opened through the master, so that no path inside the sandbox decides which file it
 * is. */
static int open_pty(struct process *p, const struct agent_exec *exec, struct error *err)
{
	struct winsize size = {.ws_row = (unsigned short)(exec->rows ? exec->rows : 24),
	                       .ws_col = (unsigned short)(exec->columns ? exec->columns : 80)};
	int master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK), slave,
	    unlock = 0;

	if (master < 0)
		return FAIL_ERRNO(err, "open a terminal");
	p->pty = p->out[0].watch.fd = master;
	if (ioctl(master, TIOCSPTLCK, &unlock) < 0 || ioctl(master, TIOCSWINSZ, &size) < 0)
		return FAIL_ERRNO(err, "open a terminal");
	slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave < 0)
		return FAIL_ERRNO(err, "open a terminal");
	p->spawn.fds[0] = p->spawn.fds[1] = p->spawn.fds[2] = slave;
	if (p->spawn.user && fchown(slave, p->user->uid, (gid_t)-1) < 0)
		return FAIL_ERRNO(err, "hand over a terminal");
	p->in.fd = fcntl(master, F_DUPFD_CLOEXEC, 3);
	return p->in.fd < 0 ? FAIL_ERRNO(err, "open a terminal") : 0;
}

static int open_streams(struct process *p, const struct agent_exec *exec, struct error *err)
{
	if (exec->flags & AGENT_EXEC_TTY)
		return open_pty(p, exec, err);
	return open_pipe(p, 0, err) < 0 || open_pipe(p, 1, err) < 0 || open_stdin(p, exec, err) < 0
	               ? -1
	               : 0;
}

/* The higher of the last two that were opened. */
static int find_newest(const struct process *p)
{
	return p->in.fd > p->spawn.fds[0] ? p->in.fd : p->spawn.fds[0];
}

static void close_streams(struct process *p)
{
	for (int i = 0; i < 3; i++) {
		if (p->spawn.fds[i] >= 0 && (i == 0 || p->spawn.fds[i] != p->spawn.fds[0]))
			(void)close(p->spawn.fds[i]);
	}
}

int process_spawn(struct process *p, const struct agent_exec *exec, struct error *err)
{
	struct spawn *s = &p->spawn;

	s->fds[0] = s->fds[1] = s->fds[2] = -1;
	if (check_env(exec, err) < 0 || set_user(p, exec, err) < 0)
		return -1;
	s->args = exec->args;
	s->env = spawn_env(&p->spawn_arena, p->agent, p->user, exec);
	s->paths = spawn_paths(&p->spawn_arena, exec->args[0], s->env);
	s->cwd = choose_folder(p, exec);
	s->root = p->agent->root;
	s->resolve = p->agent->resolve;
	s->cpus = agent_cpus(p->agent);
	s->tty = (exec->flags & AGENT_EXEC_TTY) != 0;
	s->no_privileges = (exec->flags & AGENT_EXEC_NO_PRIVILEGES) != 0;
	if (open_streams(p, exec, err) < 0 || listener_check_room(find_newest(p), err) < 0) {
		close_streams(p);
		return -1;
	}
	if (!warm_take(p, exec) && reaper_start(s, &p->reaper, err) < 0) {
		close_streams(p);
		return -1;
	}
	buf_add_span(&p->stdin_bytes, exec->stdin_bytes);
	p->stdin_ends = !(exec->flags & AGENT_EXEC_STDIN);
	return 0;
}
