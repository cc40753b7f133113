/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/check/server_place.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/core/command.h"
#include "http/client/client.h"

#define TABLE_MAX (8u * 1024 * 1024)
#define STATE_LISTEN "0A"

/* The inode of the socket that listens on the port, by a row of /proc/net/tcp:
 * "SLOT: ADDRESS:PORT PEER:PORT STATE QUEUES TIMER RETRIES UID TIMEOUT INODE …". */
static bool parse_row(const char *row, unsigned port, unsigned long *ret_inode)
{
	char own[64], state[8];
	unsigned long inode;
	const char *colon;

	if (sscanf(row, " %*s %63s %*s %7s %*s %*s %*s %*s %*s %lu", own, state, &inode) != 3)
		return false;
	colon = strrchr(own, ':');
	if (!colon || strtoul(colon + 1, NULL, 16) != port || strcmp(state, STATE_LISTEN) != 0)
		return false;
	*ret_inode = inode;
	return true;
}

static bool find_listener(const char *table, unsigned port, unsigned long *ret_inode)
{
	AUTO(buf_done) struct buf text = BUF(TABLE_MAX);
	struct error ignored = {0};
	struct span rest, row;
	bool more = true;

	if (file_read(AT_FDCWD, table, &text, &ignored) < 0)
		return false;
	rest = buf_span(&text);
	while (more) {
		char line[256];

		more = span_split(&rest, '\n', &row);
		(void)snprintf(line, sizeof(line), "%.*s", (int)row.size, row.data ? row.data : "");
		if (parse_row(line, port, ret_inode))
			return true;
	}
	return false;
}

static bool holds_socket(const char *pid, const char *socket)
{
	char path[300], target[64];
	DIR *folder;
	bool is_found = false;

	(void)snprintf(path, sizeof(path), "/proc/%s/fd", pid);
	folder = opendir(path);
	for (struct dirent *entry; folder && !is_found && (entry = readdir(folder));) {
		ssize_t size = readlinkat(dirfd(folder), entry->d_name, target, sizeof(target) - 1);

		target[size > 0 ? size : 0] = '\0';
		is_found = strcmp(target, socket) == 0;
	}
	if (folder)
		(void)closedir(folder);
	return is_found;
}

static bool is_atolld(const char *pid)
{
	char path[300], name[32] = "";
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%s/comm", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	(void)!read(fd, name, sizeof(name) - 1);
	(void)close(fd);
	return strcmp(name, "atolld\n") == 0;
}

static bool is_held_by_atolld(unsigned long inode)
{
	char socket[64];
	DIR *proc = opendir("/proc");
	bool is_found = false;

	(void)snprintf(socket, sizeof(socket), "socket:[%lu]", inode);
	for (struct dirent *entry; proc && !is_found && (entry = readdir(proc));)
		is_found = entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
		           is_atolld(entry->d_name) && holds_socket(entry->d_name, socket);
	if (proc)
		(void)closedir(proc);
	return is_found;
}

static const char *after_loopback(const char *url)
{
	static const char *const names[] = {
	        "http://127.0.0.1:",  "http://localhost:",  "http://[::1]:",
	        "https://127.0.0.1:", "https://localhost:", "https://[::1]:"};

	for (unsigned i = 0; i < COUNT_OF(names); i++)
		if (strncmp(url, names[i], strlen(names[i])) == 0)
			return url + strlen(names[i]);
	return NULL;
}

const char *server_why_elsewhere(struct cli *cli)
{
	const char *port = after_loopback(cli->server->base_url);
	unsigned long inode;

	if (cli->server->unix_socket)
		return NULL;
	if (!port)
		return "the server is not known to run on this machine: its address is not that "
		       "of the loopback";
	if (!find_listener("/proc/net/tcp", (unsigned)strtoul(port, NULL, 10), &inode) &&
	    !find_listener("/proc/net/tcp6", (unsigned)strtoul(port, NULL, 10), &inode))
		return "the server does not listen on this machine";
	return is_held_by_atolld(inode) ? NULL
	                                : "the process that listens is not seen to be atolld: a "
	                                  "tunnel, or this command needs root";
}
