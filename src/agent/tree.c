/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

#define PROCESSES_MAX 65536
#define STOP_ROUNDS 16

struct tree_entry {
	pid_t pid, parent;
	bool below; /* the root */
	bool dead, runs;
};

struct table {
	struct tree_entry *entries;
	size_t count, capacity;
};

static void table_done(struct table *t)
{
	free(t->entries);
}

/* "pid (name) state parent group session …"; the name may hold anything. */
static bool read_stat(int proc, const char *name, char *ret_state, struct tree_process *ret)
{
	char path[64], text[512];
	AUTO_CLOSE int fd = -1;
	const char *after_name;
	ssize_t got;

	(void)snprintf(path, sizeof(path), "%s/stat", name);
	fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (got <= 0)
		return false;
	text[got] = '\0';
	after_name = strrchr(text, ')');
	return after_name && sscanf(after_name + 1, " %c %d %d %d", ret_state, &ret->parent,
	                            &ret->group, &ret->session) == 4;
}

bool tree_look(pid_t pid, struct tree_process *ret)
{
	char path[32], state;

	(void)snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	return read_stat(AT_FDCWD, path, &state, ret);
}

static bool read_entry(int proc, const char *name, struct tree_entry *ret)
{
	struct tree_process process;
	char state;

	if (!read_stat(proc, name, &state, &process))
		return false;
	ret->parent = process.parent;
	ret->pid = (pid_t)strtol(name, NULL, 10);
	ret->dead = state == 'Z' || state == 'X';
	ret->runs = state == 'R' || state == 'D';
	ret->below = false;
	return true;
}

static void add_entry(struct table *t, const struct tree_entry *entry)
{
	if (t->count == PROCESSES_MAX)
		return;
	t->entries = memory_grow(t->entries, t->count, &t->capacity, sizeof(*t->entries));
	t->entries[t->count++] = *entry;
}

static void read_table(struct table *t)
{
	DIR *proc = opendir("/proc");
	struct dirent *item;
	struct tree_entry entry;

	if (!proc)
		return;
	while ((item = readdir(proc)))
		if (item->d_name[0] >= '1' && item->d_name[0] <= '9' &&
		    read_entry(dirfd(proc), item->d_name, &entry))
			add_entry(t, &entry);
	(void)closedir(proc);
}

static int compare_pid(const void *key, const void *item)
{
	pid_t pid = *(const pid_t *)key, other = ((const struct tree_entry *)item)->pid;

	return pid < other ? -1 : pid > other;
}

/* The kernel lists /proc by rising pid. */
static bool is_below(const struct table *t, pid_t parent, pid_t root)
{
	const struct tree_entry *entry;

	if (parent == root)
		return true;
	entry = bsearch(&parent, t->entries, t->count, sizeof(*t->entries), compare_pid);
	return entry && entry->below;
}

/* Parents mostly come before their children, so usually a second round finds no change. */
static void mark_below(struct table *t, pid_t root)
{
	bool changed = true;

	while (changed) {
		changed = false;
		for (size_t i = 0; i < t->count; i++) {
			struct tree_entry *entry = &t->entries[i];

			if (entry->below || !is_below(t, entry->parent, root))
				continue;
			entry->below = true;
			changed = true;
		}
	}
}

static bool is_busy(struct table *t, const struct tree_shell *shell)
{
	for (size_t i = 0; i < t->count; i++)
		t->entries[i].below = false;
	mark_below(t, shell->root);
	for (size_t i = 0; i < t->count; i++) {
		const struct tree_entry *entry = &t->entries[i];

		if (entry->below && !entry->dead && (entry->pid != shell->shell || entry->runs))
			return true;
	}
	return false;
}

unsigned tree_count_busy(const struct tree_shell *shells, size_t count)
{
	AUTO(table_done) struct table t = {0};
	unsigned busy = 0;

	if (count > 0)
		read_table(&t);
	for (size_t i = 0; i < count; i++)
		busy += t.count > 0 && is_busy(&t, &shells[i]);
	return busy; /* NOLINT(clang-analyzer-unix.Malloc): AUTO frees */
}

unsigned tree_signal(pid_t root, int signo)
{
	AUTO(table_done) struct table t = {0};
	unsigned count = 0;

	read_table(&t);
	if (t.count)
		mark_below(&t, root);
	/* A pid that was read a moment ago still names the same process: the kernel assigns pids
	 * in turn, and a whole turn takes longer than this. */
	for (size_t i = 0; i < t.count; i++) {
		if (!t.entries[i].below || t.entries[i].dead)
			continue;
		(void)kill(t.entries[i].pid, signo);
		count++;
	}
	return count; /* NOLINT(clang-analyzer-unix.Malloc): AUTO frees */
}

unsigned tree_kill(pid_t root)
{
	unsigned count = 0, before;
	int round = 0;

	do {
		before = count;
		count = tree_signal(root, SIGSTOP);
	} while (count > before && ++round < STOP_ROUNDS);
	return count ? tree_signal(root, SIGKILL) : 0;
}
