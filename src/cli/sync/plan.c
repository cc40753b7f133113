/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/sync/plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/path.h"

void sync_list_done(struct sync_list *l)
{
	free(l->items);
	map_done(&l->by_path);
	*l = (struct sync_list){0};
}

void sync_list_add(struct sync_list *l, const struct sync_file *file)
{
	l->items = memory_grow(l->items, l->count, &l->capacity, sizeof(*l->items));
	l->items[l->count++] = *file;
}

int sync_file_compare(const void *a, const void *b)
{
	return strcmp(((const struct sync_file *)a)->path, ((const struct sync_file *)b)->path);
}

void sync_list_index(struct sync_list *l)
{
	if (l->count > 0)
		qsort(l->items, l->count, sizeof(*l->items), sync_file_compare);
	for (size_t i = 0; i < l->count; i++)
		map_put(&l->by_path, l->items[i].path, &l->items[i]);
}

struct sync_file *sync_list_find(const struct sync_list *l, const char *path)
{
	return map_find(&l->by_path, path);
}

bool sync_file_is_same(const struct sync_file *a, const struct sync_file *b)
{
	return a->size == b->size && a->is_program == b->is_program &&
	       strcmp(a->time, b->time) == 0;
}

void sync_plan_done(struct sync_plan *p)
{
	free(p->items);
	*p = (struct sync_plan){0};
}

static void add_action(struct sync_plan *p, struct sync_action action)
{
	p->items = memory_grow(p->items, p->count, &p->capacity, sizeof(*p->items));
	p->counts[action.step]++;
	p->items[p->count++] = action;
}

/* Compares a side with its earlier state: -1 deleted, 0 unchanged, 1 new or changed. */
static int change_of(const struct sync_file *now, const struct sync_file *before)
{
	if (!now)
		return -1;
	return !before || !sync_file_is_same(now, before);
}

static bool choose_step(int local, int remote, bool was_known, enum sync_step *ret)
{
	if (local == 0 && remote == 0)
		return false;
	if (local >= 0 && remote >= 0)
		*ret = local == 0 ? SYNC_DOWN : remote == 0 ? SYNC_UP : SYNC_BOTH;
	else if (local >= 0)
		*ret = local == 0 && was_known ? SYNC_DELETE_HERE : SYNC_UP;
	else
		*ret = remote == 0 && was_known ? SYNC_DELETE_THERE : SYNC_DOWN;
	return true;
}

static void plan_file(struct sync_plan *p, const char *path, const struct sync_file *local,
                      const struct sync_file *remote, const struct sync_state *state)
{
	const struct sync_file *local_before = sync_list_find(&state->local, path);
	const struct sync_file *remote_before = sync_list_find(&state->remote, path);
	bool was_known = local_before && remote_before;
	enum sync_step step;

	if (choose_step(change_of(local, was_known ? local_before : NULL),
	                change_of(remote, was_known ? remote_before : NULL), was_known, &step))
		add_action(p, (struct sync_action){step, path, local, remote});
}

void sync_plan_make(struct sync_plan *p, struct sync_list *local, struct sync_list *remote,
                    const struct sync_state *state)
{
	for (size_t i = 0; i < local->count; i++) {
		struct sync_file *other = sync_list_find(remote, local->items[i].path);

		if (other)
			other->was_seen = true;
		plan_file(p, local->items[i].path, &local->items[i], other, state);
	}
	for (size_t i = 0; i < remote->count; i++)
		if (!remote->items[i].was_seen)
			plan_file(p, remote->items[i].path, NULL, &remote->items[i], state);
}

/* Names that some filesystems treat as ".git". */
static bool is_git(struct span name)
{
	while (name.size > 0 &&
	       (name.data[name.size - 1] == ' ' || name.data[name.size - 1] == '.'))
		name.size--;
	return span_is_word(name, ".git") || span_is_word(name, "git~1");
}

bool sync_path_is_fit(const char *path)
{
	struct span rest = span_of(path), name;
	bool more = true;

	if (rest.size == 0 || rest.size >= PATH_SIZE_MAX || !span_is_utf8(rest))
		return false;
	for (size_t i = 0; i < rest.size; i++)
		if ((unsigned char)path[i] < 0x20 || path[i] == 0x7f)
			return false;
	while (more) {
		more = span_split(&rest, '/', &name);
		if (!path_name_is_valid(name) || is_git(name) ||
		    span_starts_with(name, SYNC_PART_PREFIX))
			return false;
	}
	return true;
}
