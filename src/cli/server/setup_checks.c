/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/server/setup.h"

#include <errno.h>
#include <netdb.h>
#include <pwd.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "cli/core/local.h"
#include "cli/core/text_out.h"
#include "cli/server/diagnosis.h"
#include "config/config.h"

#define SPACE_MIN ((uint64_t)2 << 30)
#define FILES_MIN 100000

extern char **environ;

static bool look_space(struct arena *a, const char *data_dir, const char **found)
{
	const char *folder = diagnosis_existing_part(a, data_dir);
	struct statvfs space;
	uint64_t bytes;

	if (statvfs(folder, &space) < 0) {
		*found = strerror(errno);
		return false;
	}
	bytes = (uint64_t)space.f_bavail * space.f_frsize;
	*found = arena_format(a, "%s and %llu files free in %s", text_out_bytes(a, (double)bytes),
	                      (unsigned long long)space.f_favail, folder);
	/* Some file systems have no limit of files, and say 0. */
	return bytes >= SPACE_MIN && (space.f_files == 0 || space.f_favail >= FILES_MIN);
}

/* Tries to listen as the server will. Returns 0 or an errno. */
static int try_listen(const struct addrinfo *at)
{
	AUTO_CLOSE int fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int on = 1;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	    bind(fd, at->ai_addr, at->ai_addrlen) < 0 || listen(fd, 1) < 0)
		return errno;
	return 0;
}

/* "127.0.0.1:7777", "[::1]:7777". */
static bool look_address(struct arena *a, const char *address, const char **found)
{
	const struct addrinfo hints = {.ai_flags = AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV,
	                               .ai_socktype = SOCK_STREAM};
	char *host = arena_text(a, address), *port = strrchr(host, ':');
	struct addrinfo *list = NULL;
	int failed;

	if (!port) {
		*found = arena_format(a, "'%s' is no HOST:PORT", address);
		return false;
	}
	*port++ = '\0';
	if (host[0] == '[' && port[-2] == ']') {
		port[-2] = '\0';
		host++;
	}
	if (getaddrinfo(host[0] ? host : NULL, port, &hints, &list) != 0) {
		*found = arena_format(a, "'%s' is no address of this machine", address);
		return false;
	}
	failed = try_listen(list);
	freeaddrinfo(list);
	*found = arena_format(a, "%s %s", address, failed ? strerror(failed) : "is free");
	return !failed;
}

static bool look_port(struct arena *a, const char *data_dir, const char **found)
{
	const char *const flags[] = {arena_format(a, "data=%s", data_dir), NULL};
	const struct config_source source = {.flags = flags, .environment = environ};
	struct config config;
	struct error err = {0};

	if (config_load(a, &source, &config, &err) < 0) {
		*found = arena_text(a, err.text);
		return false;
	}
	if (local_server_runs(a, data_dir)) {
		*found = arena_format(a, "%s: the server runs", config.listen);
		return true;
	}
	if (strncmp(config.listen, "unix:", strlen("unix:")) == 0) {
		*found = config.listen;
		return true;
	}
	return look_address(a, config.listen, found);
}

static bool look_user(struct arena *a, UNUSED const char *data_dir, const char **found)
{
	const struct passwd *user = getpwnam("atoll");

	*found = user ? arena_format(a, "atoll, %u", (unsigned)user->pw_uid)
	              : "there is no user atoll";
	return user != NULL;
}

static bool look_systemd(UNUSED struct arena *a, UNUSED const char *data_dir, const char **found)
{
	bool runs = access("/run/systemd/system", F_OK) == 0;

	*found = runs ? "runs" : "does not run";
	return runs;
}

static const struct diagnosis_check checks_of_server[] = {
        {"disk space", VERDICT_BAD, look_space,
         "2 GiB and 100,000 files are the least for templates and sandboxes: make room, or name "
         "another folder with --data"},
        {"port", VERDICT_BAD, look_port,
         "the server cannot listen: end the other program, or set 'listen' in the configuration"},
        {"user", VERDICT_LESS, look_user,
         "the server's process runs as nobody: useradd --system --user-group --no-create-home "
         "atoll"},
        {"systemd", VERDICT_LESS, look_systemd, "'atoll serve' starts the server by hand"},
};

unsigned setup_checks(const struct diagnosis_check **ret)
{
	*ret = checks_of_server;
	return COUNT_OF(checks_of_server);
}
