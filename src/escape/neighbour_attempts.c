/* SPDX-License-Identifier: Apache-2.0 */
/* What a sandbox leaves for its neighbour to find, and how the neighbour looks for it. */
#include "escape/attempt.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"

#define SERVE_S 900
#define ANSWER_MS 1000
#define ASK "who is there"

static const char *const folders[] = {"/tmp", "/var/tmp", "/dev/shm", "/home/user", "/run"};

/* Both sandboxes compute the same key; 0 would be IPC_PRIVATE. */
static key_t key_of(const char *word)
{
	uint32_t hash = 2166136261U;

	for (; *word; word++)
		hash = (hash ^ (unsigned char)*word) * 16777619U;
	return (key_t)(hash | 1);
}

static void leave_files(const char *word)
{
	char path[256];

	for (unsigned i = 0; i < COUNT_OF(folders); i++) {
		int fd;

		(void)snprintf(path, sizeof(path), "%s/%s", folders[i], word);
		fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
		if (fd >= 0)
			(void)close(fd);
	}
	(void)shmget(key_of(word), 4096, IPC_CREAT | 0666);
}

/* A process that was ended leaves them to the next run, so the attempt removes them. */
static enum escape_status find_neighbour_files(const char *word)
{
	enum escape_status status = ESCAPE_HELD;
	char path[256];

	for (unsigned i = 0; i < COUNT_OF(folders); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", folders[i], word);
		if (access(path, F_OK) < 0)
			continue;
		status = report_escape("%s is the neighbour's", path);
		(void)unlink(path);
	}
	return status == ESCAPE_THROUGH ? status : report_held("no file of the neighbour");
}

static enum escape_status find_shared_memory(const char *word)
{
	int id = shmget(key_of(word), 0, 0);

	if (id < 0)
		return report_held("shmget: %s", strerror(errno));
	(void)shmctl(id, IPC_RMID, NULL);
	return report_escape("the neighbour's shared memory was opened");
}

static bool listen_abstract(const char *word)
{
	struct sockaddr_un own = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	size_t size = strlen(word);

	if (size > sizeof(own.sun_path) - 2)
		size = sizeof(own.sun_path) - 2;
	memcpy(own.sun_path + 1, word, size);
	return fd >= 0 &&
	       bind(fd, (struct sockaddr *)&own,
	            (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + size)) == 0 &&
	       listen(fd, 4) == 0;
}

/* Of both families where there are both. */
static int bind_port(int type, unsigned port)
{
	struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
	struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	int fd = socket(AF_INET6, type | SOCK_CLOEXEC, 0), off = 0;

	if (fd >= 0 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) == 0 &&
	    bind(fd, (struct sockaddr *)&six, sizeof(six)) == 0)
		return fd;
	if (fd >= 0)
		(void)close(fd);
	fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&four, sizeof(four)) == 0)
		return fd;
	(void)close(fd);
	return -1;
}

static unsigned listen_on_port(void)
{
	struct sockaddr_in6 own = {.sin6_port = 0}; /* the port of IPv4 is at the same place */
	socklen_t size = sizeof(own);
	int fd = bind_port(SOCK_STREAM, 0);

	if (fd < 0 || listen(fd, 4) < 0 || getsockname(fd, (struct sockaddr *)&own, &size) < 0)
		return 0;
	return ntohs(own.sin6_port);
}

/* "1.1.1.1", "[fd00::1]", or false. */
static bool format_address(const struct sockaddr *of, char *out, size_t size)
{
	char text[INET6_ADDRSTRLEN];
	struct sockaddr_in four;
	struct sockaddr_in6 six;

	if (of && of->sa_family == AF_INET) {
		memcpy(&four, of, sizeof(four));
		return inet_ntop(AF_INET, &four.sin_addr, out, (socklen_t)size) != NULL;
	}
	if (!of || of->sa_family != AF_INET6)
		return false;
	memcpy(&six, of, sizeof(six));
	if (!inet_ntop(AF_INET6, &six.sin6_addr, text, sizeof(text)))
		return false;
	(void)snprintf(out, size, "[%s]", text);
	return true;
}

static void print_addresses(unsigned port)
{
	const char *separator = "";
	struct ifaddrs *list = NULL;
	char text[INET6_ADDRSTRLEN + 2];

	if (port == 0 || getifaddrs(&list) < 0)
		return;
	for (struct ifaddrs *i = list; i; i = i->ifa_next) {
		if ((i->ifa_flags & IFF_LOOPBACK) ||
		    !format_address(i->ifa_addr, text, sizeof(text)))
			continue;
		printf("%s%s:%u", separator, text, port);
		separator = ",";
	}
	freeifaddrs(list);
}

/* Sends datagrams back, so that the other side learns that they have arrived. */
static NORETURN void answer_datagrams(int fd)
{
	int64_t deadline = deadline_after((int64_t)SERVE_S * 1000);
	struct pollfd ready = {.fd = fd, .events = POLLIN};

	while (poll(&ready, 1, deadline_poll_ms(deadline)) > 0) {
		struct sockaddr_storage from;
		socklen_t size = sizeof(from);
		char data[64];
		ssize_t got = recvfrom(fd, data, sizeof(data), 0, (struct sockaddr *)&from, &size);

		if (got > 0)
			(void)sendto(fd, data, (size_t)got, 0, (struct sockaddr *)&from, size);
	}
	_exit(0);
}

int serve_neighbour(const char *word)
{
	bool is_listening = listen_abstract(word);
	unsigned port = listen_on_port();
	int datagrams = port > 0 ? bind_port(SOCK_DGRAM, port) : -1;
	pid_t pid;

	leave_files(word);
	if (!is_listening)
		return ESCAPE_NOT_TRIED;
	print_addresses(port);
	(void)fflush(stdout);
	pid = fork();
	if (pid != 0)
		return pid > 0 ? ESCAPE_HELD : ESCAPE_NOT_TRIED;
	(void)setsid();
	(void)prctl(PR_SET_NAME, word);
	for (int fd = 0; fd < 3; fd++)
		(void)close(fd);
	answer_datagrams(datagrams);
}

static void send_question(int fd, const void *to, socklen_t size)
{
	(void)sendto(fd, ASK, sizeof(ASK), 0, to, size);
}

/* All hosts of each link: by IPv4, by broadcast, and by IPv6. */
static void ask_links(int four, int six, unsigned port)
{
	struct sockaddr_in all = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	struct sockaddr_in6 all6 = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
	struct if_nameindex *links = if_nameindex();

	all.sin_addr.s_addr = htonl(INADDR_BROADCAST);
	send_question(four, &all, sizeof(all));
	(void)inet_pton(AF_INET6, "ff02::1", &all6.sin6_addr);
	for (struct if_nameindex *i = links; i && i->if_index != 0; i++) {
		struct ip_mreqn link = {.imr_ifindex = (int)i->if_index};

		all.sin_addr.s_addr = htonl(INADDR_ALLHOSTS_GROUP);
		if (setsockopt(four, IPPROTO_IP, IP_MULTICAST_IF, &link, sizeof(link)) == 0)
			send_question(four, &all, sizeof(all));
		all6.sin6_scope_id = i->if_index;
		send_question(six, &all6, sizeof(all6));
	}
	if (links)
		if_freenameindex(links);
}

/* Sends datagrams to the neighbour, and to all hosts of its links: it answers what arrives. */
static enum escape_status ask_neighbour(const char *list)
{
	int on = 1, four = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0),
	    six = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct pollfd ready[] = {{.fd = four, .events = POLLIN}, {.fd = six, .events = POLLIN}};
	struct span rest = span_of(list);
	char address[ATTEMPT_ADDRESS_SIZE];
	int64_t deadline = deadline_after(ANSWER_MS);
	unsigned port = 0;

	(void)setsockopt(four, SOL_SOCKET, SO_BROADCAST, &on, sizeof(on));
	while (address_list_next(&rest, address, &port)) {
		struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
		struct sockaddr_in6 to6 = {.sin6_family = AF_INET6,
		                           .sin6_port = htons((uint16_t)port)};

		if (inet_pton(AF_INET, address, &to.sin_addr) == 1)
			send_question(four, &to, sizeof(to));
		else if (inet_pton(AF_INET6, address, &to6.sin6_addr) == 1)
			send_question(six, &to6, sizeof(to6));
	}
	ask_links(four, six, port);
	while (poll(ready, COUNT_OF(ready), deadline_poll_ms(deadline)) > 0)
		for (unsigned i = 0; i < COUNT_OF(ready); i++) {
			char data[64];

			if (ready[i].revents != 0 &&
			    recv(ready[i].fd, data, sizeof(data), MSG_DONTWAIT) == sizeof(ASK))
				return report_escape("a datagram was answered by IPv%d",
				                     i == 0 ? 4 : 6);
		}
	return report_held("no connection is accepted, and no datagram is answered");
}

static enum escape_status connect_to_neighbour(const char *list)
{
	return connect_to_list(list) == ESCAPE_THROUGH ? ESCAPE_THROUGH : ask_neighbour(list);
}

const struct attempt_function neighbour_attempts[] = {
        {"connect_to_neighbour", connect_to_neighbour},
        {"find_neighbour_files", find_neighbour_files},
        {"find_shared_memory", find_shared_memory},
        {0},
};
