/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/host_limits.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/bytes.h"
#include "base/fd.h"

#define ROOT "/sys/fs/cgroup"
#define OWN_GROUPS "/proc/self/cgroup"
#define GROUP_PATH_MAX 512
/* Node and the JVM reserve several GiB that they never touch. */
#define ADDRESS_SPACE_PLENTY (UINT64_C(16) << 30)
#define ADDRESS_SPACE_CURE "LimitAS=infinity in the unit, or ulimit -v unlimited"
/* A create needs the process that makes the sandbox and its agent; workers are threads. */
#define TASKS_PLENTY 32

static bool read_count(const char *group, const char *file, uint64_t *ret)
{
	AUTO(buf_done) struct buf text = BUF(64);
	char path[GROUP_PATH_MAX + 32];
	struct error ignored = {0};
	struct span line, rest;
	int64_t count;

	(void)snprintf(path, sizeof(path), "%s/%s", group, file);
	if (file_read(AT_FDCWD, path, &text, &ignored) < 0)
		return false;
	rest = buf_span(&text);
	(void)span_split(&rest, '\n', &line);
	if (span_parse_whole(line, 0, INT64_MAX, &count, &ignored) < 0)
		return false; /* "max" */
	*ret = (uint64_t)count;
	return true;
}

static uint64_t room_of(const struct task_room *room)
{
	if (room->max == 0)
		return UINT64_MAX;
	return room->used < room->max ? room->max - room->used : 0;
}

static void consider_group(const char *group, struct task_room *tightest)
{
	struct task_room room = {0};
	size_t size = strlen(group);

	if (!read_count(group, "pids.max", &room.max) || room.max == 0 ||
	    !read_count(group, "pids.current", &room.used) || room_of(&room) >= room_of(tightest))
		return;
	if (size >= sizeof(room.group))
		group += size - sizeof(room.group) + 1;
	(void)snprintf(room.group, sizeof(room.group), "%s", group);
	*tightest = room;
}

/* From the group up to the root of its tree: each group limits it. */
static void consider_tree(const char *root, struct span path, struct task_room *tightest)
{
	size_t root_size = strlen(root);
	char group[GROUP_PATH_MAX];
	char *end;
	int size = snprintf(group, sizeof(group), "%s%.*s", root, (int)path.size, path.data);

	if (size < 0 || (size_t)size >= sizeof(group) || strstr(group, "/.."))
		return;
	while (strlen(group) > root_size) {
		consider_group(group, tightest);
		end = strrchr(group, '/');
		*end = '\0';
	}
	consider_group(root, tightest);
}

static bool has_controller(struct span list, const char *name)
{
	struct span item;

	while (list.size > 0) {
		(void)span_split(&list, ',', &item);
		if (span_equals_text(item, name))
			return true;
	}
	return false;
}

/* Lines are "8:pids:/path" for a tree of version 1 and "0::/path" for that of version 2. */
void task_room_find(const char *root, struct span own, struct task_room *ret)
{
	char tree[GROUP_PATH_MAX / 2];
	struct span line, number, controllers;

	*ret = (struct task_room){0};
	while (own.size > 0) {
		(void)span_split(&own, '\n', &line);
		(void)span_split(&line, ':', &number);
		(void)span_split(&line, ':', &controllers);
		if (has_controller(controllers, "pids")) {
			(void)snprintf(tree, sizeof(tree), "%s/pids", root);
			consider_tree(tree, line, ret);
		} else if (controllers.size == 0 && span_equals_text(number, "0")) {
			consider_tree(root, line, ret);
		}
	}
}

static void find_own_room(struct task_room *ret)
{
	AUTO(buf_done) struct buf own = BUF(16 * 1024);

	*ret = (struct task_room){0};
	if (file_read(AT_FDCWD, OWN_GROUPS, &own, &(struct error){0}) == 0)
		task_room_find(ROOT, buf_span(&own), ret);
}

/* In MiB; 0 = no limit, or a limit too large to matter. */
static unsigned long long find_address_space(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_AS, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY ||
	    limit.rlim_cur >= ADDRESS_SPACE_PLENTY)
		return 0;
	return (unsigned long long)limit.rlim_cur >> 20;
}

int host_limits_check_address_space(struct error *err)
{
	unsigned long long mib = find_address_space();

	if (mib == 0)
		return 0;
	(void)FAIL(err, ERROR_UNAVAILABLE,
	           "each process of the server and of its sandboxes may have %llu MiB of address "
	           "space: under load it has fewer threads, and node or java may not start",
	           mib);
	return FAIL_HINT(err, "%s", ADDRESS_SPACE_CURE);
}

static void hint_tasks(const struct task_room *room, struct error *err)
{
	error_hint(err, "TasksMax=infinity in the unit, or raise pids.max of '%s' (%llu of %llu)",
	           room->group, (unsigned long long)room->used, (unsigned long long)room->max);
}

int host_limits_check_tasks(struct error *err)
{
	struct task_room room;

	find_own_room(&room);
	if (room_of(&room) >= TASKS_PLENTY)
		return 0;
	(void)FAIL(err, ERROR_UNAVAILABLE,
	           "the control group of the server has %llu of at most %llu tasks: the making of "
	           "sandboxes needs more",
	           (unsigned long long)room.used, (unsigned long long)room.max);
	hint_tasks(&room, err);
	return -1;
}

/* A thread needs a task and, for its stack, address space: the kernel says EAGAIN to both. */
void host_limits_explain(struct error *err)
{
	struct task_room room;
	unsigned long long mib;

	if ((err->sys_errno != EAGAIN && err->sys_errno != ENOMEM) || err->hint[0] != '\0')
		return;
	find_own_room(&room);
	mib = find_address_space();
	if (err->sys_errno == EAGAIN && room_of(&room) < TASKS_PLENTY)
		hint_tasks(&room, err);
	else if (mib > 0)
		error_hint(err, "the address space is limited to %llu MiB: " ADDRESS_SPACE_CURE,
		           mib);
}
