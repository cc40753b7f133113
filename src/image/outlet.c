/* SPDX-License-Identifier: Apache-2.0 */
#include "image/outlet.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/address.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/fd.h"

#define NOBODY 65534
#define LISTEN_FD 3
#define WAITING_MAX 64
#define CONNECTIONS_MAX 32 /* each takes a process; further clients wait */
#define HEAD_MAX 4096
#define HEAD_MS 10000
#define CONNECT_MS 10000   /* for each address */
#define ACCEPT_REST_MS 100 /* when the host is out of something */
#define SILENCE_MS 300000
#define PIECE_SIZE 65536
#define HOST_MAX 253

struct outlet_target {
	char host[HOST_MAX + 1];
	char port[6];
};

/* "CONNECT host:port HTTP/1.1"; the rest of the head is ignored. */
static bool parse_target(struct span head, struct outlet_target *ret)
{
	struct error ignored = {0};
	struct span line, word, host;
	const char *colon;
	int64_t port;

	(void)span_split(&head, '\r', &line);
	if (!span_split(&line, ' ', &word) || !span_equals_text(word, "CONNECT") ||
	    !span_split(&line, ' ', &word))
		return false;
	colon = memrchr(word.data, ':', word.size);
	if (!colon || colon == word.data)
		return false;
	host = (struct span){word.data, (size_t)(colon - word.data)};
	word = (struct span){colon + 1, word.size - host.size - 1};
	if (host.size > 2 && host.data[0] == '[' && host.data[host.size - 1] == ']')
		host = (struct span){host.data + 1, host.size - 2};
	if (host.size > HOST_MAX || memchr(host.data, '\0', host.size) ||
	    span_parse_whole(word, 1, UINT16_MAX, &port, &ignored) < 0)
		return false;
	(void)snprintf(ret->host, sizeof(ret->host), "%.*s", (int)host.size, host.data);
	(void)snprintf(ret->port, sizeof(ret->port), "%u", (unsigned)port);
	return true;
}

static bool read_head(int fd, struct buf *head)
{
	int64_t deadline = deadline_after(HEAD_MS);
	struct error ignored = {0};
	char piece[HEAD_MAX];

	while (!memmem(head->data ? head->data : "", head->size, "\r\n\r\n", 4)) {
		ssize_t got = fd_wait(fd, POLLIN, deadline, &ignored) > 0
		                      ? recv(fd, piece, sizeof(piece), 0)
		                      : 0;

		if (got <= 0)
			return false;
		buf_add(head, piece, (size_t)got);
		if (head->overflowed)
			return false;
	}
	return true;
}

static int connect_address(const struct addrinfo *there)
{
	AUTO_CLOSE int fd = socket(there->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct error ignored = {0};
	socklen_t size = sizeof(int);
	int failure = 0;

	if (fd < 0)
		return -1;
	if (connect(fd, there->ai_addr, there->ai_addrlen) < 0 && errno != EINPROGRESS)
		return -1;
	if (fd_wait(fd, POLLOUT, deadline_after(CONNECT_MS), &ignored) <= 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &size) < 0 || failure != 0 ||
	    fd_set_blocking(fd, true, &ignored) < 0)
		return -1;
	return TAKE_FD(fd);
}

/* NULL and the address, or the reason for a refusal. The checked address is the one that is
 * connected. */
static const char *connect_target(const struct outlet_target *target, int *ret_fd)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
	const char *why = "connection refused, or no answer";
	struct addrinfo *found = NULL;

	if (getaddrinfo(target->host, target->port, &hints, &found) != 0)
		return "no such host";
	*ret_fd = -1;
	for (const struct addrinfo *one = found; one && *ret_fd < 0; one = one->ai_next) {
		if (address_is_public(one->ai_addr))
			*ret_fd = connect_address(one);
		else
			why = OUTLET_REFUSAL;
	}
	freeaddrinfo(found);
	return *ret_fd < 0 ? why : NULL;
}

static bool relay_once(int from, int to, bool *ret_is_open)
{
	static char piece[PIECE_SIZE];
	struct error ignored = {0};
	ssize_t got = recv(from, piece, sizeof(piece), 0);

	if (got < 0)
		return errno == EINTR;
	if (got == 0) {
		*ret_is_open = false;
		return shutdown(to, SHUT_WR) == 0;
	}
	return fd_write_all(to, piece, (size_t)got, &ignored) == 0;
}

static void relay_bytes(int client, int server)
{
	bool is_open[2] = {true, true};
	const int fds[2] = {client, server};

	while (is_open[0] || is_open[1]) {
		struct pollfd polled[2] = {{is_open[0] ? client : -1, POLLIN, 0},
		                           {is_open[1] ? server : -1, POLLIN, 0}};
		int ready = poll(polled, 2, SILENCE_MS);

		if (ready == 0 || (ready < 0 && errno != EINTR))
			return;
		for (unsigned i = 0; i < 2 && ready > 0; i++)
			if (polled[i].revents && !relay_once(fds[i], fds[1 - i], &is_open[i]))
				return;
	}
}

/* Clients print the reason phrase of an error. */
static void serve_client(int client)
{
	AUTO(buf_done) struct buf head = BUF(HEAD_MAX), said = BUF(256);
	struct outlet_target target;
	struct error ignored = {0};
	const char *why = NULL;
	int server = -1;

	if (!read_head(client, &head))
		return;
	if (!parse_target(buf_span(&head), &target))
		why = "images are pulled by TLS alone";
	else
		why = connect_target(&target, &server);
	buf_addf(&said, "HTTP/1.1 %s%s\r\n\r\n", why ? "403 " : "200 OK", why ? why : "");
	if (fd_write_all(client, said.data, said.size, &ignored) == 0 && !why)
		relay_bytes(client, server);
}

/* The child dies with its parent, which may have ended already. */
static bool die_with_parent(pid_t parent)
{
	return prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent;
}

static void reap_children(unsigned *count, int flags)
{
	while (*count > 0 && waitpid(-1, NULL, flags) > 0) {
		(*count)--;
		flags = WNOHANG;
	}
}

static void accept_clients(void)
{
	pid_t self = getpid();

	for (unsigned count = 0;;) {
		int client = accept4(LISTEN_FD, NULL, NULL, SOCK_CLOEXEC);
		pid_t pid = client < 0 ? -1 : fork();

		if (pid == 0) {
			if (die_with_parent(self))
				serve_client(client);
			_exit(0);
		}
		if (client >= 0)
			(void)close(client);
		if (pid < 0)
			(void)poll(NULL, 0, ACCEPT_REST_MS);
		count += pid > 0;
		reap_children(&count, count >= CONNECTIONS_MAX ? 0 : WNOHANG);
	}
}

/* Closes all descriptors of its parent, above all a login and the progress pipe. */
static bool become_nobody(int listen_fd)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	return null >= 0 && dup2(null, STDIN_FILENO) >= 0 && dup2(null, STDOUT_FILENO) >= 0 &&
	       dup2(null, STDERR_FILENO) >= 0 &&
	       (listen_fd == LISTEN_FD || dup2(listen_fd, LISTEN_FD) >= 0) &&
	       close_range(LISTEN_FD + 1, ~0U, 0) == 0 && chdir("/") == 0 &&
	       setgroups(0, NULL) == 0 && setresgid(NOBODY, NOBODY, NOBODY) == 0 &&
	       setresuid(NOBODY, NOBODY, NOBODY) == 0 &&
	       prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

static pid_t start_proxy(int listen_fd)
{
	pid_t parent = getpid(), pid = fork();

	if (pid != 0)
		return pid;
	(void)signal(SIGPIPE, SIG_IGN);
	/* The change of user clears the parent-death signal. */
	if (become_nobody(listen_fd) && die_with_parent(parent))
		accept_clients();
	_exit(1);
}

/* In the current network namespace. */
static int listen_inside(int *ret_fd, struct error *err)
{
	const struct sockaddr_in here = {.sin_family = AF_INET,
	                                 .sin_port = htons(OUTLET_PORT),
	                                 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct ifreq loopback = {.ifr_name = "lo", .ifr_flags = IFF_UP};
	AUTO_CLOSE int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &loopback) < 0 ||
	    bind(fd, (const struct sockaddr *)&here, sizeof(here)) < 0 ||
	    listen(fd, WAITING_MAX) < 0)
		return FAIL_ERRNO(err, "listen in a network namespace");
	*ret_fd = TAKE_FD(fd);
	return 0;
}

/* The process is in the other namespace meanwhile; it has a single thread. */
static int make_namespace(int *ret_network_fd, int *ret_listen_fd, struct error *err)
{
	AUTO_CLOSE int before = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), made = -1,
	               listen_fd = -1;
	int result;

	if (before < 0 || unshare(CLONE_NEWNET) < 0)
		return FAIL_ERRNO(err, "make a network namespace");
	result = listen_inside(&listen_fd, err);
	made = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	if (made < 0 && result == 0)
		result = FAIL_ERRNO(err, "open a network namespace");
	if (setns(before, CLONE_NEWNET) < 0)
		return FAIL_ERRNO(err, "return to the network namespace");
	if (result < 0)
		return -1;
	*ret_network_fd = TAKE_FD(made);
	*ret_listen_fd = TAKE_FD(listen_fd);
	return 0;
}

int outlet_open(struct outlet *ret, struct error *err)
{
	AUTO_CLOSE int network_fd = -1, listen_fd = -1;
	pid_t pid;

	if (make_namespace(&network_fd, &listen_fd, err) < 0)
		return -1;
	pid = start_proxy(listen_fd);
	if (pid < 0)
		return FAIL_ERRNO(err, "start the way to the internet");
	*ret = (struct outlet){.pid = pid};
	ret->network_fd = TAKE_FD(network_fd);
	return 0;
}

void outlet_close(struct outlet *outlet)
{
	if (outlet->pid > 0) {
		(void)kill(outlet->pid, SIGKILL);
		(void)waitpid(outlet->pid, NULL, 0);
	}
	fd_forget(&outlet->network_fd);
	*outlet = OUTLET_CLOSED;
}
