/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/credentials.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "credential/proxy/proxy.h"
#include "daemon/data.h"
#include "daemon/listen.h"
#include "daemon/seccomp.h"

#define EMPTY_FOLDER "run/empty"
#define WAITING_BYTES (4 * 1024 * 1024) /* of connections that wait for the proxy */

static int open_pair(struct credentials_process *c, struct error *err)
{
	const int size = WAITING_BYTES;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
		return FAIL_ERRNO(err, "make a pair of sockets");
	c->proxy_fd = pair[0];
	c->gateway_fd = pair[1];
	(void)setsockopt(c->gateway_fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	return 0;
}

int credentials_open(struct credentials_process *ret, int run_fd, const struct identity *identity,
                     struct error *err)
{
	struct credentials_process c = CREDENTIALS_CLOSED;

	if (listen_open_unix(run_fd, CREDENTIALS_SOCKET, &c.control_fd, err) == 0 &&
	    (fchownat(run_fd, CREDENTIALS_SOCKET, identity->uid, identity->gid,
	              AT_SYMLINK_NOFOLLOW) == 0 ||
	     FAIL_ERRNO(err, "give '%s' to the api process", CREDENTIALS_SOCKET) == 0) &&
	    open_pair(&c, err) == 0) {
		*ret = c;
		return 0;
	}
	credentials_close(&c);
	return -1;
}

void credentials_close(struct credentials_process *c)
{
	auto_close(&c->control_fd);
	auto_close(&c->proxy_fd);
	auto_close(&c->gateway_fd);
	*c = CREDENTIALS_CLOSED;
}

struct confined_proxy {
	const struct identity *identity;
	pid_t parent;
};

/* Values leave memory neither as a core nor, where the limit lets them be locked, to swap. */
static int protect_memory(struct error *err)
{
	static const struct rlimit none = {0, 0};
	struct rlimit locked;

	/* After the change of user, which would clear it. Other processes of the user can then
	 * neither trace this one nor read its memory and descriptors. */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || setrlimit(RLIMIT_CORE, &none) < 0)
		return FAIL_ERRNO(err, "keep the memory from being dumped");
	if (ATOLL_SANITIZED || getrlimit(RLIMIT_MEMLOCK, &locked) < 0 ||
	    locked.rlim_cur != RLIM_INFINITY)
		return 0;
	if (mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) < 0)
		log_warning("values may be swapped out", NUMBER("errno", errno));
	return 0;
}

static int enter_empty_folder(struct error *err)
{
	AUTO_CLOSE int fd = -1;

	if (mkdir(EMPTY_FOLDER, 0500) < 0 && errno != EEXIST)
		return FAIL_ERRNO(err, "make the folder '%s'", EMPTY_FOLDER);
	fd = open(EMPTY_FOLDER, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fchdir(fd) < 0 || chroot(".") < 0)
		return FAIL_ERRNO(err, "enter an empty folder");
	return 0;
}

static int confine_proxy(const void *context, struct error *err)
{
	const struct confined_proxy *c = context;
	const struct rlimit unlimited = {RLIM_INFINITY, RLIM_INFINITY};

	/* Needs CAP_SYS_RESOURCE where the limit is lower. */
	(void)setrlimit(RLIMIT_MEMLOCK, &unlimited);
	if (enter_empty_folder(err) < 0 || identity_become(c->identity, err) < 0 ||
	    protect_memory(err) < 0)
		return -1;
	/* After the change of user, which clears it. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return FAIL_ERRNO(err, "tie to the supervisor");
	if (getppid() != c->parent)
		return FAIL(err, ERROR_UNAVAILABLE, "the supervisor has gone");
	/* A sanitizer needs system calls of its own. */
	return ATOLL_SANITIZED ? seccomp_confine(err) : credentials_filter(err);
}

int credentials_run(const struct daemon_options *o, const struct config *config, struct error *err)
{
	struct identity identity;
	const struct confined_proxy confined = {&identity, getppid()};
	const struct credential_proxy_options options = {.control_fd = o->control_fd,
	                                                 .handover_fd = o->handover_fd,
	                                                 .reports_fd = o->reports_fd,
	                                                 .confine = confine_proxy,
	                                                 .context = &confined};

	if (o->control_fd < 0 || o->handover_fd < 0)
		return FAIL(err, ERROR_INVALID, "only the supervisor starts the role credentials");
	if (identity_find(config->user, &identity, err) < 0)
		return -1;
	return credential_proxy_run(&options, err);
}
