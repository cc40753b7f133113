/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/random.h"
#include "cli/check/check.h"
#include "cli/check/server_place.h"
#include "cli/core/server.h"

#define ADDRESSES_MAX 8 /* of each family */

static int make_file(struct cli *cli, struct host_traps *t)
{
	char folder[64];

	(void)snprintf(folder, sizeof(folder), "/var/tmp/%s", t->word);
	if (mkdir(folder, 0777) < 0 || chmod(folder, 0777) < 0)
		return FAIL_ERRNO(cli->err, "make '%s'", folder);
	t->folder = arena_text(cli->arena, folder);
	t->file = arena_format(cli->arena, "%s/file", folder);
	return file_write(AT_FDCWD, t->file, SPAN(TRAP_TEXT "\n"), 0666, cli->err);
}

static int make_abstract_socket(struct cli *cli, struct host_traps *t)
{
	struct sockaddr_un own = {.sun_family = AF_UNIX};
	size_t size = strlen(t->word);

	memcpy(own.sun_path + 1, t->word, size);
	t->abstract_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (t->abstract_fd < 0 ||
	    bind(t->abstract_fd, (struct sockaddr *)&own,
	         (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + size)) < 0 ||
	    listen(t->abstract_fd, 64) < 0)
		return FAIL_ERRNO(cli->err, "make an abstract socket");
	return 0;
}

/* A port of both families; of IPv4 where the kernel has no other. */
static int bind_any_port(void)
{
	struct sockaddr_in6 six = {.sin6_family = AF_INET6};
	struct sockaddr_in four = {.sin_family = AF_INET};
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0), off = 0;

	if (fd >= 0 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) == 0 &&
	    bind(fd, (struct sockaddr *)&six, sizeof(six)) == 0)
		return fd;
	if (fd >= 0)
		(void)close(fd);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&four, sizeof(four)) == 0)
		return fd;
	(void)close(fd);
	return -1;
}

/* The kernel accepts the connections; nothing reads from them. */
static int make_listener(struct cli *cli, struct host_traps *t, unsigned *ret_port)
{
	struct sockaddr_in6 own = {.sin6_port = 0}; /* the port of IPv4 is at the same place */
	socklen_t size = sizeof(own);

	t->listener_fd = bind_any_port();
	if (t->listener_fd < 0 || listen(t->listener_fd, 64) < 0 ||
	    getsockname(t->listener_fd, (struct sockaddr *)&own, &size) < 0)
		return FAIL_ERRNO(cli->err, "listen on a port");
	*ret_port = ntohs(own.sin6_port);
	return 0;
}

static void add_address(struct buf *out, const struct sockaddr *entry, unsigned port)
{
	const char *separator = out->size > 0 ? "," : "";
	char text[INET6_ADDRSTRLEN];
	struct sockaddr_in6 six;
	struct sockaddr_in four;

	if (entry->sa_family == AF_INET) {
		memcpy(&four, entry, sizeof(four));
		if (inet_ntop(AF_INET, &four.sin_addr, text, sizeof(text)))
			buf_addf(out, "%s%s:%u", separator, text, port);
	} else {
		memcpy(&six, entry, sizeof(six));
		if (inet_ntop(AF_INET6, &six.sin6_addr, text, sizeof(text)))
			buf_addf(out, "%s[%s]:%u", separator, text, port);
	}
}

static void add_addresses(struct buf *out, const struct ifaddrs *list, int family, unsigned port)
{
	unsigned count = 0;

	for (const struct ifaddrs *i = list; i && count < ADDRESSES_MAX; i = i->ifa_next) {
		if (i->ifa_addr && i->ifa_addr->sa_family == family) {
			add_address(out, i->ifa_addr, port);
			count++;
		}
	}
}

static int list_addresses(struct cli *cli, struct host_traps *t, unsigned port)
{
	AUTO(buf_done) struct buf out = BUF(4096);
	struct ifaddrs *list = NULL;

	if (getifaddrs(&list) < 0)
		return FAIL_ERRNO(cli->err, "list the addresses of this machine");
	add_addresses(&out, list, AF_INET, port);
	add_addresses(&out, list, AF_INET6, port);
	freeifaddrs(list);
	t->addresses = arena_text(cli->arena, buf_text(&out));
	return 0;
}

/* A process with the traps' name that lives as long as this one. */
static int start_process(struct cli *cli, struct host_traps *t)
{
	t->process = fork();
	if (t->process < 0)
		return FAIL_ERRNO(cli->err, "start a process");
	if (t->process > 0)
		return 0;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)prctl(PR_SET_NAME, t->word);
	for (;;)
		(void)pause();
}

int host_traps_set(struct cli *cli, struct host_traps *ret)
{
	struct host_traps t = {.abstract_fd = -1, .listener_fd = -1};
	unsigned char bytes[4];
	char digits[2 * sizeof(bytes) + 1], kernel[512];
	unsigned port = 0;

	escape_describe_kernel(kernel, sizeof(kernel));
	t.kernel = arena_text(cli->arena, kernel);
	t.why_none = server_why_elsewhere(cli);
	if (t.why_none) {
		*ret = t;
		return 0;
	}
	random_bytes(bytes, sizeof(bytes));
	hex_encode(bytes, sizeof(bytes), digits);
	(void)snprintf(t.word, sizeof(t.word), "trap-%s", digits);
	if (make_file(cli, &t) < 0 || make_abstract_socket(cli, &t) < 0 ||
	    make_listener(cli, &t, &port) < 0 || list_addresses(cli, &t, port) < 0 ||
	    start_process(cli, &t) < 0) {
		host_traps_remove(&t);
		return FAIL_CONTEXT(cli->err, "set traps on this machine");
	}
	*ret = t;
	return 0;
}

void host_traps_remove(struct host_traps *t)
{
	if (t->process > 0) {
		(void)kill(t->process, SIGKILL);
		(void)waitpid(t->process, NULL, 0);
	}
	fd_forget(&t->abstract_fd);
	fd_forget(&t->listener_fd);
	if (t->file)
		(void)unlink(t->file);
	if (t->folder)
		(void)rmdir(t->folder);
}
