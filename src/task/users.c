/* SPDX-License-Identifier: Apache-2.0 */
/* Looks for processes that use something of a sandbox's root besides "/": an open file or folder, a
 * current folder, a shared mapping, a named socket, a watch. All its processes are held. What they
 * did before, such as renaming files, cannot mislead the check: it opens nothing by a path that
 * they chose. A process that is overlooked gets errors, because the old root is read-only. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/fd.h"
#include "task/kinds.h"
#include "wire/task.h"

#define PROCS_MAX (1024 * 1024)
#define MAPS_MAX (16 * 1024 * 1024)
#define SOCKETS_MAX (4 * 1024 * 1024)

struct sandbox_root {
	uint64_t mount, inode, mounts_inode;
};

struct checked_process {
	const struct sandbox_root *root;
	int pid;
	char name[32];
};

static int refuse_process(const struct checked_process *s, const char *what, struct error *err)
{
	return FAIL(err, ERROR_CONFLICT, "process %d (%s) has %s", s->pid, s->name, what);
}

/* 1: it exists; 0: it does not (a dead process has none); -1: failed. */
static int stat_proc(const char *path, struct statx *ret, struct error *err)
{
	if (statx(AT_FDCWD, path, AT_NO_AUTOMOUNT, STATX_TYPE | STATX_INO | STATX_MNT_ID, ret) == 0)
		return 1;
	if (errno == ENOENT || errno == ESRCH || errno == ENXIO)
		return 0;
	return FAIL_ERRNO(err, "look at '%s'", path);
}

static bool is_of_root(const struct checked_process *s, const struct statx *status)
{
	return (status->stx_mask & STATX_MNT_ID) && status->stx_mnt_id == s->root->mount;
}

/* Checks one thread; threads may have folders of their own. */
static int check_folders(const struct checked_process *s, const char *thread, struct error *err)
{
	struct statx status;
	char path[128];
	int there;

	(void)snprintf(path, sizeof(path), "%d/task/%s/root", s->pid, thread);
	there = stat_proc(path, &status, err);
	if (there <= 0)
		return there;
	if (!is_of_root(s, &status) || status.stx_ino != s->root->inode)
		return refuse_process(s, "another root", err);
	(void)snprintf(path, sizeof(path), "%d/task/%s/cwd", s->pid, thread);
	there = stat_proc(path, &status, err);
	if (there <= 0 || !is_of_root(s, &status) || status.stx_ino == s->root->inode)
		return there < 0 ? -1 : 0;
	return refuse_process(s, "a current folder other than '/'", err);
}

/* A file is on the root's mount; a watch does not tell what it watches. */
static int check_descriptor(const struct checked_process *s, const char *number, struct error *err)
{
	static const char watch[] = "anon_inode:inotify";
	struct statx status;
	char path[128], target[sizeof(watch)] = "";
	int there;

	(void)snprintf(path, sizeof(path), "%d/fd/%s", s->pid, number);
	there = stat_proc(path, &status, err);
	if (there <= 0)
		return there;
	if (is_of_root(s, &status))
		return refuse_process(
		        s, S_ISDIR(status.stx_mode) ? "an open folder" : "an open file", err);
	if (!S_ISREG(status.stx_mode) && !S_ISDIR(status.stx_mode) &&
	    readlinkat(AT_FDCWD, path, target, sizeof(target) - 1) > 0 &&
	    strcmp(target, watch) == 0)
		return refuse_process(s, "a watch on files", err);
	return 0;
}

typedef int check_entry(const struct checked_process *s, const char *name, struct error *err);

static int each_entry(const struct checked_process *s, const char *what, check_entry *check,
                      struct error *err)
{
	char path[64];
	struct dirent *entry;
	int status = 0;

	(void)snprintf(path, sizeof(path), "%d/%s", s->pid, what);
	AUTO(folder_list_done) DIR *folder = folder_list_at(AT_FDCWD, path);
	if (!folder)
		return errno == ENOENT || errno == ESRCH ? 0 : FAIL_ERRNO(err, "list '%s'", path);
	while (status == 0 && (entry = readdir(folder)))
		if (entry->d_name[0] != '.')
			status = check(s, entry->d_name, err);
	return status;
}

/* Whether the path is on a filesystem in memory, which is not the root's. */
static bool is_in_memory(struct span path)
{
	static const char *const places[] = {"/dev/", "/memfd:", "/SYSV",         "/run/",
	                                     "/tmp/", "/proc/",  "/anon_hugepage"};

	for (unsigned i = 0; i < COUNT_OF(places); i++) {
		size_t size = strlen(places[i]);

		if (path.size >= size && memcmp(path.data, places[i], size) == 0)
			return true;
	}
	return false;
}

/* The C library maps its table of character sets like this in nearly every shell and interpreter. A
 * process that keeps the old mapping has the same bytes. */
static bool is_constant(struct span path, const char *rights)
{
	static const char cache[] = "/gconv/gconv-modules.cache";
	size_t size = sizeof(cache) - 1;

	return rights[1] != 'w' && path.size > size &&
	       memcmp(path.data + path.size - size, cache, size) == 0;
}

/* "start-end rw-s offset 00:17 inode   /path" */
static int check_maps(const struct checked_process *s, struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(MAPS_MAX);
	struct error ignored = {0};
	struct span rest, line, word;
	char path[64];

	(void)snprintf(path, sizeof(path), "%d/maps", s->pid);
	if (file_read(AT_FDCWD, path, &text, &ignored) < 0)
		return ignored.code == ERROR_TOO_LARGE ? refuse_process(s, "too many mappings", err)
		                                       : 0;
	rest = buf_span(&text);
	while (rest.size > 0) {
		const char *slash;
		struct span file;

		(void)span_split(&rest, '\n', &line);
		slash = memchr(line.data, '/', line.size);
		(void)span_split(&line, ' ', &word);
		(void)span_split(&line, ' ', &word);
		if (!slash || word.size != 4 || word.data[3] != 's')
			continue;
		file = (struct span){slash, (size_t)(line.data + line.size - slash)};
		if (!is_in_memory(file) && !is_constant(file, word.data))
			return refuse_process(s, "a file in shared memory", err);
	}
	return 0;
}

static int check_process(const struct sandbox_root *root, int pid, struct error *err)
{
	struct checked_process s = {.root = root, .pid = pid, .name = "?"};
	AUTO(buf_done) struct buf name = BUF(64);
	struct error ignored = {0};
	struct stat status;
	char path[64];

	(void)snprintf(path, sizeof(path), "%d/comm", pid);
	if (file_read(AT_FDCWD, path, &name, &ignored) == 0)
		(void)snprintf(s.name, sizeof(s.name), "%.*s", (int)strcspn(buf_text(&name), "\n"),
		               buf_text(&name));
	(void)snprintf(path, sizeof(path), "%d/ns/mnt", pid);
	if (stat(path, &status) < 0)
		return errno == ENOENT || errno == ESRCH ? 0
		                                         : FAIL_ERRNO(err, "look at '%s'", path);
	if (status.st_ino != root->mounts_inode)
		return refuse_process(&s, "mounts of its own", err);
	if (each_entry(&s, "task", check_folders, err) < 0 ||
	    each_entry(&s, "fd", check_descriptor, err) < 0)
		return -1;
	return check_maps(&s, err);
}

static int check_processes(const struct sandbox_root *root, struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(PROCS_MAX);
	struct error ignored = {0};
	struct span rest, line;
	int64_t pid;

	if (fd_read_to_end(TASK_INPUT_FD, &text, err) < 0)
		return FAIL_CONTEXT(err, "list the processes");
	rest = buf_span(&text);
	while (rest.size > 0) {
		(void)span_split(&rest, '\n', &line);
		if (span_parse_whole(line, 1, INT32_MAX, &pid, &ignored) == 0 &&
		    check_process(root, (int)pid, err) < 0)
			return -1;
	}
	return 0;
}

/* A client that connects would look in the new root, and find a file without a listener. */
static int check_sockets(int pid, struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(SOCKETS_MAX);
	struct span rest, line;
	char path[64];

	(void)snprintf(path, sizeof(path), "%d/net/unix", pid);
	if (file_read(AT_FDCWD, path, &text, err) < 0)
		return -1;
	rest = buf_span(&text);
	while (rest.size > 0) {
		const char *slash;
		struct span name;

		(void)span_split(&rest, '\n', &line);
		slash = memchr(line.data, '/', line.size);
		if (!slash || memchr(line.data, '@', (size_t)(slash - line.data)))
			continue;
		name = (struct span){slash, (size_t)(line.data + line.size - slash)};
		if (!is_in_memory(name))
			return FAIL(err, ERROR_CONFLICT, "a socket listens at '%.*s'",
			            (int)(name.size > 100 ? 100 : name.size), name.data);
	}
	return 0;
}

int task_users(char **words, struct task_report *report, struct error *err)
{
	int64_t pid, mounts_inode;
	struct statx status;
	struct sandbox_root root;
	char path[64];

	if (span_parse_whole(span_of(words[0]), 1, INT32_MAX, &pid, err) < 0 ||
	    span_parse_whole(span_of(words[1]), 0, INT64_MAX, &mounts_inode, err) < 0 ||
	    task_wait(err) < 0)
		return -1;
	(void)snprintf(path, sizeof(path), "%d/root", (int)pid);
	if (stat_proc(path, &status, err) <= 0)
		return FAIL(err, ERROR_UNAVAILABLE, "the sandbox has ended");
	if (!(status.stx_mask & STATX_MNT_ID))
		return FAIL(err, ERROR_CONFLICT, "kernel does not number mounts (Linux 5.8)");
	root = (struct sandbox_root){status.stx_mnt_id, status.stx_ino, (uint64_t)mounts_inode};
	if (check_processes(&root, err) < 0 || check_sockets((int)pid, err) < 0)
		return -1;
	report->result.root_mount = root.mount;
	return 0;
}
