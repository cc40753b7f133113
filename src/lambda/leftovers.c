/* SPDX-License-Identifier: Apache-2.0 */
/* What a command may leave behind for the next one, which is another caller's. */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/path.h"
#include "lambda/parts.h"

#define PROCESSES_MAX 8192
#define KILL_MS 5000
#define LINE_MAX_SIZE 512

struct left_process {
	pid_t pid, parent;
	bool is_ours;
};

struct left_processes {
	struct left_process items[PROCESSES_MAX];
	size_t count;
};

/* proc(5): "PID (NAME) STATE PARENT …", and the name may hold blanks and brackets. */
static bool read_parent(const char *pid, pid_t *ret)
{
	AUTO(buf_done) struct buf text = BUF(4096);
	char path[64];
	struct error ignored = {0};

	(void)snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
	if (file_read(AT_FDCWD, path, &text, &ignored) < 0)
		return false;
	const char *end = strrchr(buf_text(&text), ')');
	if (!end || strlen(end) < 5)
		return false;
	*ret = (pid_t)strtol(end + 4, NULL, 10);
	return true;
}

static int list_processes(struct left_processes *ret, struct error *err)
{
	AUTO(folder_list_done) DIR *proc = opendir("/proc");

	ret->count = 0;
	if (!proc)
		return FAIL_ERRNO(err, "list processes");
	for (const struct dirent *entry; (entry = readdir(proc));) {
		pid_t parent;

		if (!isdigit((unsigned char)entry->d_name[0]) ||
		    !read_parent(entry->d_name, &parent))
			continue;
		if (ret->count == PROCESSES_MAX)
			return 0;
		ret->items[ret->count++] = (struct left_process){
		        .pid = (pid_t)strtol(entry->d_name, NULL, 10), .parent = parent};
	}
	return 0;
}

static bool is_child_of_ours(const struct left_processes *all, const struct left_process *p)
{
	if (p->parent == getpid())
		return true;
	for (size_t i = 0; i < all->count; i++)
		if (all->items[i].pid == p->parent)
			return all->items[i].is_ours;
	return false;
}

/* Descendants only: this program must never hurt a process that is not below it. */
static size_t mark_descendants(struct left_processes *all)
{
	size_t count = 0;
	bool has_changed = true;

	while (has_changed) {
		has_changed = false;
		for (size_t i = 0; i < all->count; i++) {
			struct left_process *p = &all->items[i];

			if (p->is_ours || p->pid == getpid() || !is_child_of_ours(all, p))
				continue;
			p->is_ours = has_changed = true;
			count++;
		}
	}
	return count;
}

static void reap_children(void)
{
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

int leftovers_kill(struct error *err)
{
	static struct left_processes all;
	const struct timespec pause = {.tv_nsec = 1000000};
	int64_t deadline = deadline_after(KILL_MS);

	for (;;) {
		reap_children();
		if (list_processes(&all, err) < 0)
			return -1;
		if (mark_descendants(&all) == 0)
			return 0;
		for (size_t i = 0; i < all.count; i++)
			if (all.items[i].is_ours)
				(void)kill(all.items[i].pid, SIGKILL);
		if (deadline_poll_ms(deadline) == 0)
			return FAIL(err, ERROR_TIMEOUT, "processes of the command do not end");
		(void)nanosleep(&pause, NULL);
	}
}

/* An entry that is no folder is removed; a folder is moved up into the root, so that no depth of
 * folders needs a stack. */
static int remove_entry(int root, int folder, const char *name, unsigned *count, struct error *err)
{
	char moved[64];

	if (unlinkat(folder, name, 0) == 0)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return FAIL_ERRNO(err, "remove a file that a command left");
	if (unlinkat(folder, name, AT_REMOVEDIR) == 0)
		return 0;
	if (folder == root)
		return 0;
	(void)snprintf(moved, sizeof(moved), ".atoll-leftover-%u", (*count)++);
	if (renameat(folder, name, root, moved) < 0)
		return FAIL_ERRNO(err, "move a folder that a command left");
	return 0;
}

static int empty_folder(int root, const char *name, unsigned *count, struct error *err)
{
	AUTO(folder_list_done) DIR *list = NULL;

	/* Its owner may have taken away its own access. No process is left that could put a link
	 * in its place. */
	(void)!fchmodat(root, name, 0700, 0);
	list = folder_list_at(root, name);
	if (!list)
		return FAIL_ERRNO(err, "open a folder that a command left");
	for (const struct dirent *entry; (entry = readdir(list));)
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
		    remove_entry(root, dirfd(list), entry->d_name, count, err) < 0)
			return -1;
	return 0;
}

/* 1: something is left, 0: nothing is. */
static int remove_round(int root, unsigned *count, struct error *err)
{
	AUTO(folder_list_done) DIR *list = folder_list(root);
	int left = 0;

	if (!list)
		return FAIL_ERRNO(err, "list the files that a command left");
	for (const struct dirent *entry; (entry = readdir(list));) {
		struct stat st;

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		left = 1;
		if (fstatat(root, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			return FAIL_ERRNO(err, "look at a file that a command left");
		if ((S_ISDIR(st.st_mode) && empty_folder(root, entry->d_name, count, err) < 0) ||
		    remove_entry(root, root, entry->d_name, count, err) < 0)
			return -1;
	}
	return left;
}

static int remove_below(const char *path, struct error *err)
{
	AUTO_CLOSE int root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	unsigned count = 0;
	int left;

	if (root < 0)
		return errno == ENOENT ? 0 : FAIL_ERRNO(err, "open '%s'", path);
	while ((left = remove_round(root, &count, err)) == 1)
		;
	return left;
}

static void remove_shared(int id)
{
	(void)shmctl(id, IPC_RMID, NULL);
}

static void remove_semaphores(int id)
{
	(void)semctl(id, 0, IPC_RMID);
}

static void remove_queue(int id)
{
	(void)msgctl(id, IPC_RMID, NULL);
}

/* Objects of other users stay, because the kernel refuses to remove them. proc(5): the second
 * column is the id. */
static void remove_objects(const char *table, void (*each)(int id))
{
	FILE *list = fopen(table, "re");
	char line[LINE_MAX_SIZE];

	while (list && fgets(line, sizeof(line), list)) {
		char *rest = NULL;

		(void)strtol(line, &rest, 10);
		long id = rest ? strtol(rest, &rest, 10) : -1;
		if (rest && isblank((unsigned char)*rest))
			each((int)id);
	}
	if (list)
		(void)fclose(list);
}

int leftovers_remove(struct error *err)
{
	remove_objects("/proc/sysvipc/shm", remove_shared);
	remove_objects("/proc/sysvipc/sem", remove_semaphores);
	remove_objects("/proc/sysvipc/msg", remove_queue);
	if (remove_below(TEMPORARY_ROOT, err) < 0)
		return -1;
	return remove_below("/dev/shm", err);
}
