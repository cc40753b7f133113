/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/ports.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

/* Of /proc/net/tcp. The kernel lists listening sockets first. */
#define TABLE_BYTES_MAX (128 * 1024)
#define LINKS_MAX 65536 /* descriptors that one search reads */
#define STATE_LISTEN 0x0a

/* "0100007F": four bytes in the machine's order, so that the words are copied as they are. */
static bool parse_address(const char *hex, unsigned version, char ret[static 48])
{
	uint32_t words[4] = {0};
	size_t count = version == 4 ? 1 : 4;

	if (strlen(hex) != count * 8)
		return false;
	for (size_t i = 0; i < count; i++)
		if (sscanf(hex + 8 * i, "%8" SCNx32, &words[i]) != 1)
			return false;
	return inet_ntop(version == 4 ? AF_INET : AF_INET6, words, ret, 48) != NULL;
}

/* "  0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000  0 12345 …" */
static bool parse_line(const char *line, unsigned version, struct listening_port *ret)
{
	char hex[33];
	unsigned port, state;

	if (sscanf(line,
	           " %*u: %32[0-9A-F]:%4x %*[0-9A-F]:%*x %x %*x:%*x %*x:%*x %*x %*u %*u %" SCNu64,
	           hex, &port, &state, &ret->inode) != 4)
		return false;
	ret->port = (uint16_t)port;
	return state == STATE_LISTEN && ret->inode > 0 && parse_address(hex, version, ret->address);
}

void ports_parse(struct port_list *list, struct span text, unsigned version)
{
	char line[256];
	struct span next;

	while (span_split(&text, '\n', &next)) {
		struct listening_port port = {.pid = 0};

		(void)snprintf(line, sizeof(line), "%.*s", (int)next.size, next.data);
		if (!parse_line(line, version, &port))
			continue;
		if (list->count == AGENT_PORTS_MAX) {
			list->is_cut = true;
			return;
		}
		list->items[list->count++] = port;
	}
}

static size_t read_start(const char *path, char *ret, size_t size)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t end = 0;
	ssize_t got;

	while (fd >= 0 && end < size && (got = read(fd, ret + end, size - end)) > 0)
		end += (size_t)got;
	return end;
}

static void read_table(struct port_list *list, const char *path, unsigned version)
{
	AUTO_FREE char *text = memory_new(TABLE_BYTES_MAX);
	size_t size = read_start(path, text, TABLE_BYTES_MAX);

	ports_parse(list, (struct span){text, size}, version);
}

static void note_owner(struct port_list *list, uint64_t inode, pid_t pid)
{
	for (size_t i = 0; i < list->count; i++) {
		if (list->items[i].inode != inode || list->items[i].pid)
			continue;
		list->items[i].pid = pid;
		list->found++;
	}
}

static void search_descriptors(struct port_list *list, int folder, pid_t pid, unsigned *links)
{
	AUTO(folder_list_done) DIR *entries = folder_list(folder);
	struct dirent *entry;
	uint64_t inode;
	char link[64];

	while (entries && (entry = readdir(entries)) && *links < LINKS_MAX) {
		ssize_t size;

		if (entry->d_name[0] == '.')
			continue;
		++*links;
		size = readlinkat(folder, entry->d_name, link, sizeof(link) - 1);
		if (size <= 0)
			continue;
		link[size] = '\0';
		if (sscanf(link, "socket:[%" SCNu64 "]", &inode) == 1)
			note_owner(list, inode, pid);
	}
}

/* The kernel shows the descriptors of a process to its user and group. The agent, which has no
 * CAP_SYS_PTRACE, takes both for the look; setfsuid gives the capabilities of user 0 back. */
static int open_descriptors(int proc, const char *name)
{
	char path[300];
	struct stat status;

	(void)snprintf(path, sizeof(path), "%s/fd", name);
	if (fstatat(proc, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	(void)setfsgid(status.st_gid);
	(void)setfsuid(status.st_uid);
	return openat(proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void stop_looking(void)
{
	(void)setfsuid(geteuid());
	(void)setfsgid(getegid());
}

/* The kernel lists /proc by rising pid: a parent that passed its socket on comes first. */
static void search_processes(struct port_list *list)
{
	AUTO(folder_list_done) DIR *proc = folder_list_at(AT_FDCWD, "/proc");
	struct dirent *entry;
	unsigned links = 0;

	while (proc && list->found < list->count && links < LINKS_MAX && (entry = readdir(proc))) {
		AUTO_CLOSE int folder = -1;

		if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
			continue;
		folder = open_descriptors(dirfd(proc), entry->d_name);
		if (folder >= 0)
			search_descriptors(list, folder, (pid_t)strtol(entry->d_name, NULL, 10),
			                   &links);
		stop_looking();
	}
	if (links == LINKS_MAX)
		list->is_cut = true;
}

void ports_list(struct port_list *ret)
{
	ret->count = ret->found = 0;
	ret->is_cut = false;
	read_table(ret, "/proc/self/net/tcp", 4);
	read_table(ret, "/proc/self/net/tcp6", 6);
	search_processes(ret);
}

void port_command(pid_t pid, char *ret, size_t size)
{
	char path[64];
	AUTO_CLOSE int fd = -1;
	ssize_t got;

	(void)snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	got = fd < 0 ? -1 : read(fd, ret, size - 1);
	if (got < 0)
		got = 0;
	while (got > 0 && ret[got - 1] == '\0')
		got--;
	for (ssize_t i = 0; i < got; i++)
		if (ret[i] == '\0')
			ret[i] = ' ';
	ret[got] = '\0';
}
