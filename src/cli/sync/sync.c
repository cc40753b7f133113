/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/sync/sync.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <time.h>
#include <unistd.h>

#include "cli/sync/commands.h"
#include "cli/core/server.h"
#include "cli/files/path_argument.h"
#include "cli/core/text_out.h"
#include "json/write.h"

#define SIZE_MAX_MB 256
/* From this number on, deletions of more than half of a side are refused. */
#define DELETIONS_MIN 10
#define AGAIN_S 2

static void end_round(struct folder_sync *s)
{
	sync_plan_done(&s->plan);
	sync_list_done(&s->here);
	sync_list_done(&s->there);
	sync_list_done(&s->before.local);
	sync_list_done(&s->before.remote);
	sync_list_done(&s->next.local);
	sync_list_done(&s->next.remote);
	map_done(&s->folders_there);
	map_done(&s->links_there);
	s->folders_there = s->links_there = (struct map){0};
	gitignore_done(&s->ignore);
	s->ignore = (struct gitignore){0};
	s->links = s->skipped = s->conflicts = 0;
	arena_reset(&s->arena);
}

void sync_say(struct folder_sync *s, const char *what, const char *path, const char *note)
{
	if (s->cli->json)
		return;
	(void)printf("%-12s %s%s%s\n", what, text_out_safe(&s->arena, path), note ? " -> " : "",
	             note ? text_out_safe(&s->arena, note) : "");
}

static int check_deletions(struct folder_sync *s, enum sync_step step, const struct sync_list *side,
                           const char *where)
{
	size_t count = s->plan.counts[step];

	if (s->may_delete_all || count < DELETIONS_MIN || 2 * count <= side->count)
		return 0;
	(void)FAIL(s->cli->err, ERROR_CONFLICT, "%zu of %zu files would be deleted %s", count,
	           side->count, where);
	return FAIL_HINT(s->cli->err,
	                 "check that the other side is complete; --delete-all deletes them");
}

static void tell_plan(struct folder_sync *s)
{
	static const char *const words[SYNC_STEP_COUNT] = {
	        [SYNC_UP] = "up",
	        [SYNC_DOWN] = "down",
	        [SYNC_BOTH] = "compare",
	        [SYNC_DELETE_HERE] = "delete here",
	        [SYNC_DELETE_THERE] = "delete there",
	};

	for (size_t i = 0; i < s->plan.count; i++)
		sync_say(s, words[s->plan.items[i].step], s->plan.items[i].path, NULL);
}

/* Files that this round does not touch keep their recorded state. */
static void carry_over_unchanged(struct folder_sync *s)
{
	struct map touched = {0};

	for (size_t i = 0; i < s->plan.count; i++)
		map_put(&touched, s->plan.items[i].path, &s->plan.items[i]);
	for (size_t i = 0; i < s->here.count; i++) {
		const struct sync_file *other = sync_list_find(&s->there, s->here.items[i].path);

		if (!other || map_find(&touched, s->here.items[i].path))
			continue;
		sync_list_add(&s->next.local, &s->here.items[i]);
		sync_list_add(&s->next.remote, other);
	}
	map_done(&touched);
}

/* Files that were left for the next round keep their recorded state, too: otherwise deletions on
 * the other side would be forgotten. */
static void keep_unfinished(struct folder_sync *s)
{
	struct map done = {0};

	for (size_t i = 0; i < s->next.local.count; i++)
		map_put(&done, s->next.local.items[i].path, &s->next.local.items[i]);
	for (size_t i = 0; i < s->plan.count; i++) {
		const char *path = s->plan.items[i].path;
		const struct sync_file *local = sync_list_find(&s->before.local, path);
		const struct sync_file *remote = sync_list_find(&s->before.remote, path);

		if (!local || !remote || map_find(&done, path))
			continue;
		sync_list_add(&s->next.local, local);
		sync_list_add(&s->next.remote, remote);
	}
	map_done(&done);
}

static void print_report(struct folder_sync *s)
{
	AUTO(buf_done) struct buf out = BUF(4096);
	const size_t *counts = s->plan.counts;

	if (s->cli->json) {
		json_begin_object(&out, NULL);
		json_add_whole(&out, "up", (int64_t)counts[SYNC_UP]);
		json_add_whole(&out, "down", (int64_t)counts[SYNC_DOWN]);
		json_add_whole(&out, "compared", (int64_t)counts[SYNC_BOTH]);
		json_add_whole(&out, "deleted_here", (int64_t)counts[SYNC_DELETE_HERE]);
		json_add_whole(&out, "deleted_there", (int64_t)counts[SYNC_DELETE_THERE]);
		json_add_whole(&out, "conflicts", (int64_t)s->conflicts);
		json_add_whole(&out, "skipped", (int64_t)s->skipped);
		json_add_whole(&out, "links", (int64_t)s->links);
		json_end_object(&out);
		(void)printf("%s\n", buf_text(&out));
	} else if (s->skipped > 0) {
		(void)fprintf(stderr, "atoll: %zu files were skipped (names, sizes)\n", s->skipped);
	}
	(void)fflush(stdout);
}

static int apply_plan(struct folder_sync *s)
{
	if (check_deletions(s, SYNC_DELETE_HERE, &s->here, "here") < 0 ||
	    check_deletions(s, SYNC_DELETE_THERE, &s->there, "in the sandbox") < 0)
		return -1;
	carry_over_unchanged(s);
	if (sync_receive_changes(s) < 0 || sync_send_changes(s) < 0)
		return -1;
	keep_unfinished(s);
	return sync_state_write(s);
}

/* *ret_again: a change appeared that the next round must send. */
static int run_round(struct folder_sync *s, bool *ret_again)
{
	struct arena *lasting = s->cli->arena;
	int result;

	/* Server answers live for one round. */
	s->cli->arena = &s->arena;
	result = sync_state_read(s);
	if (result == 0)
		result = sync_look(s);
	if (result == 0) {
		sync_plan_make(&s->plan, &s->here, &s->there, &s->before);
		if (s->is_dry)
			tell_plan(s);
		else
			result = apply_plan(s);
	}
	if (result == 0)
		print_report(s);
	*ret_again = result == 0 && s->conflicts > 0;
	end_round(s);
	s->cli->arena = lasting;
	return result;
}

static int run_rounds(struct folder_sync *s)
{
	bool again;

	if (run_round(s, &again) < 0)
		return -1;
	return again ? run_round(s, &again) : 0;
}

static int follow_changes(struct folder_sync *s)
{
	const struct timespec pause = {.tv_sec = AGAIN_S};
	struct sync_watch *watch;

	if (sync_watch_open(s, &watch) < 0)
		return -1;
	for (;;) {
		if (sync_watch_wait(watch, s->cli->err) < 0)
			return -1;
		if (run_rounds(s) == 0)
			continue;
		/* The server restarted, or a file changed while it was sent: tries again in the
		 * next round. */
		(void)fprintf(stderr, "atoll: %s\n", s->cli->err->text);
		if (s->cli->err->code != ERROR_UNAVAILABLE && s->cli->err->code != ERROR_CONFLICT)
			return -1;
		error_clear(s->cli->err);
		(void)nanosleep(&pause, NULL);
	}
}

/* Resolves the sandbox's id and the folder's absolute path, which identify the state file. */
static int find_there(struct folder_sync *s, const struct path_argument *place)
{
	const struct json_value *sandbox, *entry;
	const char *path = place->path[0] ? place->path : ".";

	if (server_get(s->cli, instance_path(s->cli->arena, place->sandbox, ""), &sandbox) < 0)
		return -1;
	s->sandbox = json_get_text(sandbox, "id", place->sandbox);
	path = escaped_path(s->cli->arena, "/files/stat?follow=true&path=", path, "");
	if (server_get(s->cli, instance_path(s->cli->arena, s->sandbox, path), &entry) == 0 &&
	    strcmp(json_get_text(entry, "type", ""), "directory") != 0)
		return FAIL(s->cli->err, ERROR_INVALID, "'%s' is not a folder", place->path);
	if (s->cli->err->code == ERROR_NOT_FOUND && place->path[0] == '/') {
		error_clear(s->cli->err);
		s->remote = place->path;
		return 0;
	}
	if (s->cli->err->code != ERROR_NONE)
		return FAIL_CONTEXT(s->cli->err, "look at '%s'", place->path);
	s->remote = json_get_text(entry, "path", place->path);
	return 0;
}

static int find_here(struct folder_sync *s, const char *local)
{
	char *resolved = realpath(local, NULL);

	if (!resolved)
		return FAIL_ERRNO(s->cli->err, "open the folder '%s'", local);
	s->local = arena_text(s->cli->arena, resolved);
	free(resolved);
	s->folder = open(s->local, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return s->folder < 0 ? FAIL_ERRNO(s->cli->err, "open the folder '%s'", local) : 0;
}

static int open_both(struct folder_sync *s, bool watches)
{
	struct cli *cli = s->cli;
	struct path_argument place;

	if (path_argument_parse(cli->arena, cli->args.words[1], &place, cli->err) < 0)
		return -1;
	if (!place.sandbox)
		place = (struct path_argument){.sandbox = place.path, .path = ""};
	if (find_here(s, cli->args.words[0]) < 0 || cli_connect(cli) < 0 ||
	    find_there(s, &place) < 0 ||
	    sync_state_open(s, cli->server->base_url ? cli->server->base_url
	                                             : cli->server->unix_socket) < 0)
		return -1;
	if (!watches)
		return 0;
	s->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	return s->inotify < 0 ? FAIL_ERRNO(cli->err, "watch '%s'", s->local) : 0;
}

static int sync_folders(struct cli *cli)
{
	struct folder_sync s = {.cli = cli, .folder = -1, .inotify = -1};
	bool watches = arguments_has(&cli->args, "watch");
	int64_t size_mb = SIZE_MAX_MB;
	int result;

	s.is_dry = arguments_has(&cli->args, "dry-run");
	s.may_delete_all = arguments_has(&cli->args, "delete-all");
	if (arguments_size_mb(&cli->args, "max-size", &size_mb, cli->err) < 0)
		return -1;
	s.size_max = size_mb << 20;
	if (watches && s.is_dry)
		return FAIL(cli->err, ERROR_INVALID, "--watch and --dry-run exclude each other");
	result = open_both(&s, watches);
	if (result == 0)
		result = run_rounds(&s);
	if (result == 0 && watches)
		result = follow_changes(&s);
	arena_done(&s.arena);
	if (s.folder >= 0)
		(void)close(s.folder);
	if (s.inotify >= 0)
		(void)close(s.inotify);
	return result;
}

static const struct command_option options[] = {
        {"watch", NULL, "keep syncing changes of both sides", .letter = 'w'},
        {"dry-run", NULL, "print the actions without executing them", .letter = 'n'},
        {"max-size", "SIZE", "skip larger files (256m)"},
        {"delete-all", NULL, "delete even if most files of a side would go"},
        {.name = NULL},
};

const struct cli_command command_sync = {
        .name = "sync",
        .usage = "FOLDER SANDBOX[:PATH]",
        .about = "synchronize a local folder and a folder of a sandbox in both directions",
        .more = "Files excluded by .gitignore, .git and links are not synchronized. If both both\n"
                "sides changed a file, the local one stays and the sandbox's is saved beside it "
                "as\n"
                "NAME.conflict-TIME. Only files that were the same on both sides are ever deleted.",
        .options = options,
        .arguments_min = 2,
        .arguments_max = 2,
        .completion = COMPLETE_SANDBOX_OR_FILE,
        .run = sync_folders,
};
