/* SPDX-License-Identifier: Apache-2.0 */
/* From the local folder to the sandbox, and deletions on both sides. The sandbox is listed again
 * first: files that changed there since the plan was made wait for the next round. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/path.h"
#include "cli/core/body.h"
#include "cli/files/archive.h"
#include "cli/core/server.h"
#include "cli/sync/sync.h"

#define BODY_MAX (64 * 1024)
#define CLOCK_SLACK_MS 5

static bool is_as_planned(const struct sync_action *a, const struct sync_list *now)
{
	const struct sync_file *file = sync_list_find(now, a->path);

	return a->remote ? file && sync_file_is_same(file, a->remote) : !file;
}

static int pack_files(void *items, int fd, struct error *err)
{
	return archive_pack_items(items, fd, err);
}

/* Files that change in the sandbox during the unpacking are kept beside. The slack covers the
 * coarse clock of file times and rounds in quick succession. */
static const char *changed_since_query(struct folder_sync *s)
{
	return s->listed_ms > CLOCK_SLACK_MS
	               ? arena_format(&s->arena, "&changed_since_ms=%lld",
	                              (long long)(s->listed_ms - CLOCK_SLACK_MS))
	               : "";
}

static int send_archive(struct folder_sync *s, struct archive_item *items, size_t count)
{
	struct archive_items all = {items, count, s->folder};
	struct archive_thread packer = {pack_files, &all};
	struct http_answer answer = {0};
	struct http_call call = {.method = "POST",
	                         .content_type = "application/x-tar",
	                         .has_body_fd = true,
	                         .body_fd_size = -1};
	int result;

	call.path = sync_url(s, "/files/tar?path=", "", changed_since_query(s));
	if (archive_thread_start(&packer, s->cli->err) < 0)
		return -1;
	call.body_fd = packer.other_fd;
	result = http_client_call(s->cli->client, &call, &answer, s->cli->err);
	buf_done(&answer.body);
	return archive_thread_end(&packer, result, s->cli->err);
}

static struct archive_item item_of(const struct sync_file *file)
{
	return (struct archive_item){
	        .path = file->path,
	        .name = file->path,
	        .link = "",
	        .mode = S_IFREG | (file->is_program ? 0755 : 0644),
	        .size = file->size,
	        .modified_s = strtoll(file->time, NULL, 10),
	};
}

/* Records the state of a sent file: the agent gives files the times of the archive. */
static void record_sent(struct folder_sync *s, const struct sync_file *file)
{
	AUTO(buf_done) struct buf time = BUF(64);
	struct sync_file remote = *file;

	clock_format(&time, strtoll(file->time, NULL, 10) * 1000);
	remote.time = arena_text(&s->arena, buf_text(&time));
	sync_list_add(&s->next.local, file);
	sync_list_add(&s->next.remote, &remote);
}

/* False if a folder has the file's name, or a file or link the name of one of its folders: the
 * whole archive would fail. */
static bool has_room(const struct folder_sync *s, const char *path, const struct sync_list *now)
{
	char part[PATH_SIZE_MAX];

	for (size_t i = 0; path[i]; i++) {
		if (path[i] == '/') {
			part[i] = '\0';
			if (map_find(&s->links_there, part) || sync_list_find(now, part))
				return false;
		}
		part[i] = path[i];
	}
	return !map_find(&s->folders_there, path) && !map_find(&s->links_there, path);
}

static bool should_send(struct folder_sync *s, const struct sync_action *a,
                        const struct sync_list *now)
{
	if (a->step != SYNC_UP || !a->local || !is_as_planned(a, now))
		return false;
	if (a->local->size > s->size_max)
		sync_say(s, "too large", a->path, NULL);
	else if (!has_room(s, a->path, now))
		sync_say(s, "in the way", a->path, NULL);
	else
		return true;
	s->skipped++;
	return false;
}

static int send_files(struct folder_sync *s, const struct sync_list *now)
{
	struct archive_item *items = ARENA_ARRAY(&s->arena, struct archive_item, s->plan.count + 1);
	size_t count = 0;

	for (size_t i = 0; i < s->plan.count; i++) {
		const struct sync_action *a = &s->plan.items[i];

		if (!should_send(s, a, now))
			continue;
		items[count++] = item_of(a->local);
		sync_say(s, "up", a->path, NULL);
		record_sent(s, a->local);
	}
	return count > 0 ? send_archive(s, items, count) : 0;
}

static int delete_there(struct folder_sync *s, const struct sync_action *a)
{
	const char *path =
	        arena_format(&s->arena, "%s/%s", strcmp(s->remote, "/") ? s->remote : "", a->path);
	AUTO(buf_done) struct buf body = BUF(BODY_MAX);
	struct server_call call = {.method = "POST",
	                           .path = instance_path(&s->arena, s->sandbox, "/files/remove")};

	body_begin(&body);
	body_add_text(&body, "path", path);
	call.body = body_end(&body);
	if (server_call(s->cli, &call, NULL) < 0) {
		if (s->cli->err->code != ERROR_NOT_FOUND)
			return FAIL_CONTEXT(s->cli->err, "delete '%s' in the sandbox", a->path);
		error_clear(s->cli->err);
	}
	sync_say(s, "delete there", a->path, NULL);
	return 0;
}

/* Removes parent folders that became empty. */
static void remove_empty_parents(struct folder_sync *s, const char *path)
{
	char *copy = arena_text(&s->arena, path);
	char *slash;

	while ((slash = strrchr(copy, '/'))) {
		struct error ignored = {0};
		int parent;

		*slash = '\0';
		if (sync_open_parent(s, copy, false, &parent, &ignored) < 0)
			return;
		if (unlinkat(parent, path_last(copy), AT_REMOVEDIR) < 0) {
			(void)close(parent);
			return;
		}
		(void)close(parent);
	}
}

static int delete_here(struct folder_sync *s, const struct sync_action *a)
{
	struct error ignored = {0};
	struct sync_file now;
	int parent;

	if (sync_open_parent(s, a->path, false, &parent, &ignored) < 0)
		return 0;
	/* A file that changed meanwhile is kept. */
	if (sync_stat_here(s, parent, path_last(a->path), &now) == 1 &&
	    sync_file_is_same(&now, a->local) && unlinkat(parent, path_last(a->path), 0) == 0)
		sync_say(s, "delete here", a->path, NULL);
	(void)close(parent);
	remove_empty_parents(s, a->path);
	return 0;
}

int sync_send_changes(struct folder_sync *s)
{
	struct sync_list now = {0};
	int result = sync_look_there(s, &now);

	if (result == 0)
		result = send_files(s, &now);
	for (size_t i = 0; result == 0 && i < s->plan.count; i++) {
		const struct sync_action *a = &s->plan.items[i];

		if (!is_as_planned(a, &now))
			continue;
		if (a->step == SYNC_DELETE_THERE)
			result = delete_there(s, a);
		else if (a->step == SYNC_DELETE_HERE)
			result = delete_here(s, a);
	}
	sync_list_done(&now);
	return result;
}
