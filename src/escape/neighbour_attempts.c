/* SPDX-License-Identifier: Apache-2.0 */
/* What a sandbox leaves for its neighbour to find, and how the neighbour looks for it. */
#include "escape/attempt.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define SERVE_S 900

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

static unsigned listen_on_port(void)
{
	struct sockaddr_in own = {.sin_family = AF_INET};
	socklen_t size = sizeof(own);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&own, sizeof(own)) < 0 || listen(fd, 4) < 0 ||
	    getsockname(fd, (struct sockaddr *)&own, &size) < 0)
		return 0;
	return ntohs(own.sin_port);
}

static void print_addresses(unsigned port)
{
	const char *separator = "";
	struct ifaddrs *list = NULL;
	char text[INET_ADDRSTRLEN];

	if (port == 0 || getifaddrs(&list) < 0)
		return;
	for (struct ifaddrs *i = list; i; i = i->ifa_next) {
		struct sockaddr_in address;

		if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET ||
		    (i->ifa_flags & IFF_LOOPBACK))
			continue;
		memcpy(&address, i->ifa_addr, sizeof(address));
		if (inet_ntop(AF_INET, &address.sin_addr, text, sizeof(text))) {
			printf("%s%s:%u", separator, text, port);
			separator = ",";
		}
	}
	freeifaddrs(list);
}

int serve_neighbour(const char *word)
{
	bool is_listening = listen_abstract(word);
	unsigned port = listen_on_port();
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
	(void)sleep(SERVE_S);
	_exit(0);
}

const struct attempt_function neighbour_attempts[] = {
        {"find_neighbour_files", find_neighbour_files},
        {"find_shared_memory", find_shared_memory},
        {0},
};
