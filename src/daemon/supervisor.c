/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/supervisor.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "config/providers.h"
#include "daemon/certificate.h"
#include "daemon/child.h"
#include "daemon/copies.h"
#include "daemon/credentials.h"
#include "daemon/data.h"
#include "daemon/environment.h"
#include "daemon/listen.h"
#include "daemon/names.h"
#include "daemon/reports.h"
#include "daemon/reserve.h"
#include "worker/worker.h"

#define STOP_MS 10000
#define LOOK_MS 1000
/* The api process's loop carries every byte and begins every call. Its workers step back to nice
 * 0. */
#define LOOP_NICE (-WORKER_NICE_STEP)
#define GONE_MS 5000 /* a folder missing for less was moved and put back */

enum child_kind { CHILD_BROKER, CHILD_API, CHILD_NAMES, CHILD_CREDENTIALS, CHILD_COUNT };

struct supervisor {
	struct arena *arena;
	const struct config *config;
	struct identity identity;
	struct data_folder data;
	struct child children[CHILD_COUNT];
	bool has_broker, is_root;
	int listen_fds[2], key_fd, config_fd, tls_listen_fd;
	int login_fd;    /* the login at network_proxy, for the gateway of host names; -1: none */
	int harmless_fd; /* the configuration without secrets, for the gateway of host names */
	struct certificate_source certificate;
	struct names_process names;
	struct credentials_process credentials;
	struct report_ways reports;
	int ready_fds[2];       /* the api process writes a byte when it serves */
	int signal_fd, node_fd; /* node_fd: see copies.h */
	struct id node;
	int64_t look_ms,
	        gone_since_ms; /* next look at the data folder; gone_since_ms 0 = it is in place */
	enum fleet_claim claim;
	const char **claim_arg; /* of the api process: only its first start claims a store */
	int64_t reserve_look_ms;
	bool ready, serves; /* ready: the first api process was ready; serves: the running one is */
	bool stopping;
	unsigned stop_count; /* signals to stop so far */
};

/* The folder of this program, which holds the other programs, too. */
static int program_folder(struct arena *a, const char **ret, struct error *err)
{
	char path[PATH_MAX];
	ssize_t size = readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (size < 0)
		return FAIL_ERRNO(err, "find our own program");
	path[size] = '\0';
	*strrchr(path, '/') = '\0';
	*ret = arena_text(a, path);
	return 0;
}

static int open_program(const char *path, int *ret_fd, struct error *err)
{
	*ret_fd = open(path, O_RDONLY | O_CLOEXEC);
	return *ret_fd < 0 ? FAIL_ERRNO(err, "open the program '%s'", path) : 0;
}

static int prepare_broker(struct supervisor *s, struct error *err)
{
	const struct config *config = s->config;
	struct child *c = &s->children[CHILD_BROKER];
	const char **at = ARENA_ARRAY(s->arena, const char *, 64), *folder;

	c->name = "atoll-broker";
	c->args = at;
	if (program_folder(s->arena, &folder, err) < 0 ||
	    open_program(arena_format(s->arena, "%s/atoll-launch", folder), &c->program_fd, err) <
	            0)
		return -1;
	/* atoll-launch starts the broker (launch/launch.h). */
	*at++ = "atoll-launch";
	*at++ = config->data_dir;
	*at++ = arena_format(s->arena, "%s/atoll-agent", folder);
	*at++ = arena_format(s->arena, "%s/atoll-task", folder);
	*at++ = arena_format(s->arena, "%s/atoll-image", folder);
	*at++ = arena_format(s->arena, "%s/atoll-broker", folder);
	*at++ = "--data";
	*at++ = config->data_dir;
	*at++ = "--agent";
	*at++ = arena_format(s->arena, "%s/atoll-agent", folder);
	*at++ = "--uid";
	*at++ = arena_format(s->arena, "%u", s->identity.uid);
	*at++ = "--gid";
	*at++ = arena_format(s->arena, "%u", s->identity.gid);
	*at++ = "--cells";
	*at++ = arena_format(s->arena, "%lld", (long long)config->cells);
	*at++ = "--pool-automatic";
	*at++ = arena_format(s->arena, "%lld", (long long)config->pool_automatic);
	*at++ = "--pool-max";
	*at++ = arena_format(s->arena, "%lld", (long long)config->pool_max);
	*at++ = "--subnet";
	*at++ = config->network_subnet;
	*at++ = "--allow";
	*at++ = config->network_allow;
	*at++ = "--subnet6";
	*at++ = config->network_ipv6_subnet;
	*at++ = "--ipv6";
	*at++ = strcmp(config->network_ipv6, "auto") == 0 ? "on" : "off";
	*at++ = "--disk-quota";
	*at++ = config->disk_quota;
	*at++ = "--disk-watch";
	*at++ = config->disk_watch;
	*at++ = "--disk-inodes";
	*at++ = arena_format(s->arena, "%lld", (long long)config->disk_inodes);
	*at++ = "--registry-private";
	*at++ = config->registry_allow_private ? "on" : "off";
	if (s->names.ports[NAMES_HTTP]) {
		*at++ = "--gateway";
		*at++ = arena_format(s->arena, "%u,%u,%u", s->names.ports[NAMES_HTTP],
		                     s->names.ports[NAMES_TLS], s->names.ports[NAMES_DNS]);
	}
	*at++ = "--proxied";
	*at++ = *config->network_proxy ? "on" : "off";
	*at++ = "--log-group";
	*at++ = arena_format(s->arena, "%u", s->reports.group);
	*at++ = "--orphans-keep";
	*at++ = arena_format(s->arena, "%lld", (long long)config->orphans_keep_ms / 1000);
	*at++ = "--orphan-timeout";
	*at++ = arena_format(s->arena, "%lld", (long long)(config->orphan_timeout_ms + 999) / 1000);
	*at++ = "--io-mbps";
	*at++ = arena_format(s->arena, "%lld", (long long)config->io_mbps);
	c->env = child_environment(s->arena);
	return 0;
}

/* Writes the effective configuration into an unnamed file. The process may be unable to read the
 * original file, and must not apply environment and flags a second time. */
static int write_config(const struct supervisor *s,
                        void (*write)(struct buf *out, const struct config *config), int *ret_fd,
                        struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(256 * 1024);

	write(&text, s->config);
	*ret_fd = memfd_create("atoll.yaml", MFD_CLOEXEC);
	if (*ret_fd < 0)
		return FAIL_ERRNO(err, "make a file for the configuration");
	return fd_write_all(*ret_fd, text.data, text.size, err);
}

#define ROLE_ARGUMENTS_MAX 40
struct role {
	struct supervisor *supervisor;
	struct child *child;
	int config_fd;
	const char **at; /* end of its arguments */
};

static int role_begin(struct role *role, const char *name, struct error *err)
{
	const struct supervisor *s = role->supervisor;
	struct child *c = role->child;

	role->at = ARENA_ARRAY(s->arena, const char *, ROLE_ARGUMENTS_MAX);
	c->args = role->at;
	c->env = child_environment(s->arena);
	if (open_program("/proc/self/exe", &c->program_fd, err) < 0)
		return -1;
	*role->at++ = "atolld";
	*role->at++ = "--role";
	*role->at++ = name;
	*role->at++ = "--config";
	*role->at++ = arena_format(s->arena, "/proc/self/fd/%d", role->config_fd);
	*role->at++ = "--config-origins";
	*role->at++ = s->config->origins;
	*role->at++ = "--data";
	*role->at++ = s->config->data_dir;
	c->fds[c->fd_count++] = role->config_fd;
	return 0;
}

static void pass_fd(struct role *role, const char *option, int fd)
{
	struct child *c = role->child;

	*role->at++ = option;
	*role->at++ = arena_format(role->supervisor->arena, "%d", fd);
	c->fds[c->fd_count++] = fd;
}

static int prepare_api(struct supervisor *s, struct error *err)
{
	struct child *c = &s->children[CHILD_API];
	struct role role = {s, c, s->config_fd};

	c->name = "atolld";
	c->identity = s->is_root ? &s->identity : NULL;
	c->folder_fd = s->data.fd;
	c->nice = LOOP_NICE;
	if (role_begin(&role, "api", err) < 0)
		return -1;
	c->env = api_environment(s->arena, s->config);
	pass_fd(&role, "--listen-fd", s->listen_fds[0]);
	pass_fd(&role, "--listen-fd", s->listen_fds[1]);
	pass_fd(&role, "--key-fd", s->key_fd);
	pass_fd(&role, "--ready-fd", s->ready_fds[1]);
	if (s->tls_listen_fd >= 0) {
		pass_fd(&role, "--tls-listen-fd", s->tls_listen_fd);
		pass_fd(&role, "--certificate-fd", s->certificate.memory_fd);
	}
	if (s->reports.server_fd >= 0)
		pass_fd(&role, "--reports-fd", s->reports.server_fd);
	if (s->reports.kernel_fd >= 0)
		pass_fd(&role, "--packets-fd", s->reports.kernel_fd);
	s->claim_arg = role.at;
	if (s->claim != FLEET_CLAIM_CHECK)
		*role.at++ = s->claim == FLEET_CLAIM_ADOPT ? "--adopt" : "--recover";
	return 0;
}

/* The process needs root for its first steps, see names.c. It reads hostile data and gets no
 * secrets. */
static int prepare_names(struct supervisor *s, struct error *err)
{
	struct child *c = &s->children[CHILD_NAMES];
	struct role role = {s, c};

	c->name = "atolld-names";
	if (write_config(s, config_write_harmless, &s->harmless_fd, err) < 0)
		return -1;
	role.config_fd = s->harmless_fd;
	if (role_begin(&role, "names", err) < 0)
		return -1;
	for (unsigned i = 0; i < NAMES_FDS; i++)
		pass_fd(&role, "--names-fd", s->names.fds[i]);
	if (s->login_fd >= 0)
		pass_fd(&role, "--login-fd", s->login_fd);
	if (s->reports.gateway_fd >= 0)
		pass_fd(&role, "--reports-fd", s->reports.gateway_fd);
	if (s->credentials.gateway_fd >= 0)
		pass_fd(&role, "--handover-fd", s->credentials.gateway_fd);
	return 0;
}

/* It needs root for its first steps, as the gateway does. */
static int prepare_credentials(struct supervisor *s, struct error *err)
{
	struct child *c = &s->children[CHILD_CREDENTIALS];
	struct role role = {s, c, s->harmless_fd};

	c->name = "atolld-credentials";
	c->folder_fd = s->data.fd;
	if (role_begin(&role, "credentials", err) < 0)
		return -1;
	pass_fd(&role, "--control-fd", s->credentials.control_fd);
	pass_fd(&role, "--handover-fd", s->credentials.proxy_fd);
	if (s->reports.gateway_fd >= 0)
		pass_fd(&role, "--reports-fd", s->reports.gateway_fd);
	return 0;
}

/* The broker makes sandboxes of these kinds; those of the first three have a network of their own.
 */
static const char *const broker_kinds[] = {"native", "gvisor", "microvm", "host"};
#define NETWORK_KINDS 3

static bool config_has_kind_of(const struct config *config, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (config_has_provider_kind(config, broker_kinds[i]))
			return true;
	return false;
}

/* Only sandboxes with their own network have such rules; without the gateway they are refused. */
static int open_names(struct supervisor *s, struct error *err)
{
	struct error failure = {0};

	if (!s->is_root || !config_has_kind_of(s->config, NETWORK_KINDS))
		return 0;
	if (report_ways_open(&s->reports, &failure) < 0)
		log_warning("network decisions about addresses are not recorded",
		            FAILURE(&failure));
	error_clear(&failure);
	if (names_open(&s->names, s->data.run_fd, s->identity.gid, &failure) < 0) {
		log_warning("network rules cannot name hosts", FAILURE(&failure));
		return 0;
	}
	if (credentials_open(&s->credentials, s->data.run_fd, &s->identity, &failure) < 0)
		log_warning("sandboxes cannot use credentials", FAILURE(&failure));
	if (names_login_open(s->config, &s->login_fd, err) < 0 || prepare_names(s, err) < 0)
		return -1;
	return s->credentials.control_fd >= 0 ? prepare_credentials(s, err) : 0;
}

/* A socket of group root is not opened to the api process: that group may be worth more. */
static gid_t group_of_docker(const char *host)
{
	static const char scheme[] = "unix://";
	struct stat st;

	if (strncmp(host, scheme, strlen(scheme)) != 0 || stat(host + strlen(scheme), &st) < 0 ||
	    !S_ISSOCK(st.st_mode))
		return 0;
	return (st.st_mode & S_IWGRP) ? st.st_gid : 0;
}

static int find_docker_groups(const struct config *config, struct identity *identity,
                              struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct config_providers all;

	if (config_providers_load(&arena, config, &all, err) < 0)
		return -1;
	for (unsigned i = 0; i < all.count; i++) {
		const char *host = config_provider_value(&all.items[i], "docker_host");
		gid_t group;

		if (strcmp(all.items[i].kind, "docker") != 0)
			continue;
		group = group_of_docker(host ? host : config->docker_host);
		if (group && identity->docker_count < COUNT_OF(identity->docker))
			identity->docker[identity->docker_count++] = group;
	}
	return 0;
}

static int check_rights(struct supervisor *s, struct error *err)
{
	s->is_root = geteuid() == 0;
	s->has_broker = config_has_kind_of(s->config, COUNT_OF(broker_kinds));
	if (s->is_root && identity_find(s->config->user, &s->identity, err) < 0)
		return -1;
	if (s->is_root && find_docker_groups(s->config, &s->identity, err) < 0)
		return -1;
	if (s->is_root)
		return 0;
	if (!s->has_broker)
		return 0;
	(void)FAIL(err, ERROR_FORBIDDEN, "a server that makes sandboxes needs root (provider '%s')",
	           s->config->provider);
	return FAIL_HINT(err,
	                 "start it with sudo: 'sudo atoll serve'; --provider null needs no root "
	                 "but runs nothing");
}

static int open_signals(struct supervisor *s, struct error *err)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGHUP);
	(void)sigaddset(&set, SIGCHLD);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return FAIL_ERRNO(err, "block signals");
	s->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return s->signal_fd < 0 ? FAIL_ERRNO(err, "watch for signals") : 0;
}

static int open_tls(struct supervisor *s, struct error *err)
{
	if (certificate_open(s->arena, s->config, &s->certificate, err) < 0)
		return -1;
	if (!s->config->tls_listen[0])
		return 0;
	if (listen_open(s->config->tls_listen, &s->tls_listen_fd, err) < 0)
		return FAIL_CONTEXT(err, "tls_listen");
	return 0;
}

static int open_data(struct supervisor *s, struct error *err)
{
	const char *data = s->config->data_dir;
	const struct copies_options copies = {COPIES_FOLDER, data, &s->node};

	if (data_open(data, s->is_root ? &s->identity : NULL, &s->data, err) < 0 ||
	    data_node_read(data, &s->node, err) < 0)
		return -1;
	return s->is_root ? copies_lock(&copies, &s->node_fd, err) : 0;
}

static int open_supervisor(struct supervisor *s, struct error *err)
{
	/* Agents whose broker died become children of this process, which reaps them. */
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		return FAIL_ERRNO(err, "become a subreaper");
	if (check_rights(s, err) < 0 || open_signals(s, err) < 0 || open_data(s, err) < 0 ||
	    data_key_open(&s->data, &s->key_fd, err) < 0 ||
	    listen_open(s->config->listen, &s->listen_fds[0], err) < 0 ||
	    listen_open_unix(s->data.run_fd, "api.sock", &s->listen_fds[1], err) < 0 ||
	    open_tls(s, err) < 0 || write_config(s, config_write, &s->config_fd, err) < 0)
		return -1;
	if (pipe2(s->ready_fds, O_CLOEXEC | O_NONBLOCK) < 0)
		return FAIL_ERRNO(err, "make a pipe");
	if (open_names(s, err) < 0 || (s->has_broker && prepare_broker(s, err) < 0))
		return -1;
	return prepare_api(s, err);
}

static int start_children(struct supervisor *s, struct error *err)
{
	if (s->has_broker && child_start(&s->children[CHILD_BROKER], err) < 0)
		return -1;
	return child_start(&s->children[CHILD_API], err);
}

static struct child *child_of(struct supervisor *s, pid_t pid)
{
	for (unsigned i = 0; i < CHILD_COUNT; i++) {
		if (s->children[i].pid == pid)
			return &s->children[i];
	}
	return NULL; /* an agent whose broker died */
}

static void log_end(const struct child *c, int status)
{
	if (WIFSIGNALED(status))
		log_warning("process killed, starting it again", TEXT("process", c->name),
		            NUMBER("signal", WTERMSIG(status)));
	else
		log_warning("process ended, starting it again", TEXT("process", c->name),
		            NUMBER("status", WEXITSTATUS(status)));
}

/* The server can run without it for a while: a failed start is only logged. */
static bool child_is_for_later(const struct supervisor *s, const struct child *c)
{
	return c == &s->children[CHILD_NAMES] || c == &s->children[CHILD_CREDENTIALS];
}

static int on_end(struct supervisor *s, struct child *c, int status, struct error *err)
{
	bool exited = WIFEXITED(status);

	if (c == &s->children[CHILD_API])
		s->serves = false;
	if (s->stopping) {
		c->pid = 0;
		return 0;
	}
	if (exited && WEXITSTATUS(status) == 0 && c == &s->children[CHILD_API] &&
	    !s->gone_since_ms) {
		c->pid = 0;
		s->stopping = true; /* the server was idle for idle_exit */
		return 0;
	}
	if (exited && !s->ready && !child_is_for_later(s, c)) {
		c->pid = 0;
		(void)FAIL(err, ERROR_SYSTEM, "%s could not start", c->name);
		return FAIL_HINT(err, "the last line of its log above says why");
	}
	log_end(c, status);
	child_ended(c, clock_monotonic_ms());
	return 0;
}

static int reap_children(struct supervisor *s, struct error *err)
{
	int status, result = 0;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		struct child *c = child_of(s, pid);

		if (c && on_end(s, c, status, err) < 0)
			result = -1;
	}
	return result;
}

static void look_at_certificate(struct supervisor *s, bool is_asked)
{
	if (certificate_look(&s->certificate, clock_monotonic_ms(), is_asked))
		child_signal(&s->children[CHILD_API], SIGHUP);
}

static void look_at_reserve(struct supervisor *s)
{
	int64_t now = clock_monotonic_ms();

	if (now < s->reserve_look_ms)
		return;
	reserve_look(s->data.fd);
	s->reserve_look_ms = now + RESERVE_LOOK_MS;
}

static int on_signals(struct supervisor *s, struct error *err)
{
	struct signalfd_siginfo info;

	while (read(s->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGHUP && s->certificate.memory_fd >= 0)
			look_at_certificate(s, true);
		else if (info.ssi_signo != SIGCHLD)
			s->stop_count++;
	}
	s->stopping |= s->stop_count > 0;
	return reap_children(s, err);
}

static int restart_child(const struct supervisor *s, struct child *c, struct error *err)
{
	struct error failure = {0};

	if (!child_is_for_later(s, c))
		return child_start(c, err);
	if (child_start(c, &failure) < 0) {
		log_warning("could not start a process, trying again", TEXT("process", c->name),
		            FAILURE(&failure));
		child_ended(c, clock_monotonic_ms());
	}
	return 0;
}

static int start_due(struct supervisor *s, int64_t *ret_wait_until, struct error *err)
{
	int64_t now = clock_monotonic_ms();

	*ret_wait_until = DEADLINE_NEVER;
	for (unsigned i = 0; i < CHILD_COUNT; i++) {
		struct child *c = &s->children[i];

		if (c->pid > 0 || c->restart_ms == 0)
			continue;
		if (c->restart_ms <= now && restart_child(s, c, err) < 0)
			return -1;
		if (c->restart_ms > 0 && c->restart_ms < *ret_wait_until)
			*ret_wait_until = c->restart_ms;
	}
	return 0;
}

static void on_ready(struct supervisor *s)
{
	char byte;

	while (read(s->ready_fds[0], &byte, 1) == 1) {
		s->ready = s->serves = true;
		*s->claim_arg = NULL;
	}
}

/* The first packet starts the gateway of host names, and the first message the credential proxy.
 * poll skips a negative descriptor. */
static int fd_until_started(const struct supervisor *s, enum child_kind which, int fd)
{
	const struct child *c = &s->children[which];

	return s->stopping || c->pid > 0 || c->restart_ms > 0 ? -1 : fd;
}

/* Data written to a folder without a path is lost: the api process ends at once and starts again
 * only when the folder is back. */
static int look_at_folder(struct supervisor *s, struct error *err)
{
	int64_t now = clock_monotonic_ms();

	if (s->stopping || now < s->look_ms)
		return 0;
	s->look_ms = now + LOOK_MS;
	if (data_is_in_place(&s->data, s->config->data_dir)) {
		if (s->gone_since_ms)
			log_warning("the data folder is back");
		s->gone_since_ms = 0;
		return 0;
	}
	if (!s->gone_since_ms) {
		s->gone_since_ms = now;
		log_error("the data folder was removed or replaced: nothing is served",
		          TEXT("data", s->config->data_dir),
		          NUMBER("sandboxes_end_in_ms", GONE_MS));
		/* The second signal makes it stop without waiting for calls. */
		child_signal(&s->children[CHILD_API], SIGTERM);
		child_signal(&s->children[CHILD_API], SIGINT);
	}
	if (now - s->gone_since_ms < GONE_MS)
		return 0;
	child_signal(&s->children[CHILD_BROKER], SIGUSR1);
	return FAIL(err, ERROR_NOT_FOUND,
	            "the data folder '%.150s' was removed or replaced: its sandboxes are ended",
	            s->config->data_dir);
}

static int wait_for_event(struct supervisor *s, int64_t until, struct error *err)
{
	const int *names = s->names.fds;
	struct pollfd fds[] = {
	        {fd_until_started(s, CHILD_NAMES, names[NAMES_HTTP]), POLLIN, 0},
	        {fd_until_started(s, CHILD_NAMES, names[NAMES_TLS]), POLLIN, 0},
	        {fd_until_started(s, CHILD_NAMES, names[NAMES_DNS]), POLLIN, 0},
	        {fd_until_started(s, CHILD_CREDENTIALS, s->credentials.control_fd), POLLIN, 0},
	        {fd_until_started(s, CHILD_CREDENTIALS, s->credentials.proxy_fd), POLLIN, 0},
	        {s->signal_fd, POLLIN, 0},
	        {s->ready_fds[0], POLLIN, 0}};

	if (s->certificate.memory_fd >= 0 && s->certificate.look_at_ms < until)
		until = s->certificate.look_at_ms;
	if (!s->stopping && s->look_ms < until)
		until = s->look_ms;
	if (s->reserve_look_ms < until)
		until = s->reserve_look_ms;
	if (poll(fds, COUNT_OF(fds), deadline_poll_ms(until)) < 0 && errno != EINTR)
		return FAIL_ERRNO(err, "wait");
	if (fds[NAMES_HTTP].revents || fds[NAMES_TLS].revents || fds[NAMES_DNS].revents)
		s->children[CHILD_NAMES].restart_ms = clock_monotonic_ms();
	if (fds[NAMES_RULES].revents || fds[NAMES_RULES + 1].revents)
		s->children[CHILD_CREDENTIALS].restart_ms = clock_monotonic_ms();
	on_ready(s);
	look_at_certificate(s, false);
	if (look_at_folder(s, err) < 0)
		return -1;
	look_at_reserve(s);
	return on_signals(s, err);
}

static int keep_alive(struct supervisor *s, struct error *err)
{
	int64_t until;

	while (!s->stopping) {
		if (start_due(s, &until, err) < 0 || wait_for_event(s, until, err) < 0)
			return -1;
	}
	return 0;
}

/* An api process that does not serve yet has no calls to finish, and may wait for a broker that is
 * not restarted. */
static int signal_to_end(const struct supervisor *s, const struct child *c)
{
	return c == &s->children[CHILD_API] && !s->serves ? SIGKILL : SIGTERM;
}

static int64_t stop_ms(const struct supervisor *s, const struct child *c)
{
	return STOP_MS +
	       (c == &s->children[CHILD_API] ? s->config->drain_delay_ms + s->config->drain_ms : 0);
}

/* Waits until the process has ended or its time is over. A second signal to stop means that calls
 * should not be awaited. */
static void wait_for_end(struct supervisor *s, struct child *c)
{
	int64_t deadline = deadline_after(stop_ms(s, c));
	unsigned told = s->stop_count;

	while (c->pid > 0 && clock_monotonic_ms() < deadline) {
		(void)!wait_for_event(s, deadline, &(struct error){0});
		if (s->stop_count == told)
			continue;
		told = s->stop_count;
		child_signal(c, SIGTERM);
		deadline = deadline_after(STOP_MS);
	}
}

/* The api process ends first: its last calls may need the broker. Sandboxes keep running, except
 * those without isolation, which no one can tell from other processes of the host later. */
static void stop_children(struct supervisor *s)
{
	static const enum child_kind stop_order[] = {CHILD_API, CHILD_BROKER, CHILD_NAMES,
	                                             CHILD_CREDENTIALS};

	s->stopping = true;
	for (unsigned i = 0; i < COUNT_OF(stop_order); i++) {
		struct child *c = &s->children[stop_order[i]];

		if (stop_order[i] == CHILD_BROKER && !s->config->host_keep)
			child_signal(c, SIGUSR2);
		child_signal(c, signal_to_end(s, c));
		wait_for_end(s, c);
		if (c->pid > 0)
			log_warning("process did not end in time, killing it",
			            TEXT("process", c->name));
		child_signal(c, SIGKILL);
		while (c->pid > 0)
			(void)!wait_for_event(s, DEADLINE_NEVER, &(struct error){0});
	}
}

static void close_supervisor(struct supervisor *s)
{
	if (s->data.run_fd >= 0 && s->listen_fds[1] >= 0)
		(void)unlinkat(s->data.run_fd, "api.sock", 0);
	for (unsigned i = 0; i < 2; i++) {
		auto_close(&s->listen_fds[i]);
		auto_close(&s->ready_fds[i]);
	}
	for (unsigned i = 0; i < CHILD_COUNT; i++)
		auto_close(&s->children[i].program_fd);
	auto_close(&s->tls_listen_fd);
	certificate_close(&s->certificate);
	names_close(&s->names);
	if (s->data.run_fd >= 0 && s->credentials.control_fd >= 0)
		(void)unlinkat(s->data.run_fd, CREDENTIALS_SOCKET, 0);
	credentials_close(&s->credentials);
	report_ways_close(&s->reports);
	auto_close(&s->key_fd);
	auto_close(&s->config_fd);
	auto_close(&s->harmless_fd);
	auto_close(&s->login_fd);
	auto_close(&s->signal_fd);
	copies_unlock(&(struct copies_options){COPIES_FOLDER, s->config->data_dir, &s->node},
	              &s->node_fd);
	data_close(&s->data);
}

int supervisor_run(struct arena *a, const struct config *config, enum fleet_claim claim,
                   struct error *err)
{
	struct supervisor s = {
	        .arena = a,
	        .claim = claim,
	        .config = config,
	        .data = {-1, -1, -1},
	        .children = {{.program_fd = -1, .folder_fd = -1},
	                     {.program_fd = -1, .folder_fd = -1},
	                     {.program_fd = -1, .folder_fd = -1},
	                     {.program_fd = -1, .folder_fd = -1}},
	        .names = NAMES_CLOSED,
	        .credentials = CREDENTIALS_CLOSED,
	        .reports = REPORT_WAYS_CLOSED,
	        .listen_fds = {-1, -1},
	        .key_fd = -1,
	        .config_fd = -1,
	        .harmless_fd = -1,
	        .login_fd = -1,
	        .tls_listen_fd = -1,
	        .certificate = {.memory_fd = -1},
	        .ready_fds = {-1, -1},
	        .signal_fd = -1,
	        .node_fd = -1,
	};
	int result = open_supervisor(&s, err);

	if (result == 0) {
		result = start_children(&s, err);
		if (result == 0)
			result = keep_alive(&s, err);
		stop_children(&s);
	}
	close_supervisor(&s);
	return result;
}
