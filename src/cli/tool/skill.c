/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "cli/tool/commands.h"
#include "cli/core/listing.h"
#include "cli/core/server.h"
#include "cli/core/text_out.h"
#include "cli/core/body.h"
#include "json/write.h"

#define SKILLS "/v1/skills"
#define MAIN_FILE "SKILL.md"
#define FILES_MAX 200
#define SIZE_MAX_BYTES ((size_t)2 << 20)
#define DEPTH_MAX 16

struct bundle {
	struct cli *cli;
	struct buf files; /* the items of a JSON list */
	size_t count, size;
	const char *main_text; /* of SKILL.md; NULL = missing */
};

static int add_file(struct bundle *b, int folder, const char *path)
{
	const struct fd_open_options options = {.flags = O_RDONLY | O_NONBLOCK | O_NOCTTY};
	AUTO(buf_done) struct buf content = BUF(SIZE_MAX_BYTES);
	struct error *err = b->cli->err;
	AUTO_CLOSE int fd = -1;

	if (fd_open_beneath(folder, path_last(path), &options, &fd, err) < 0 ||
	    fd_read_to_end(fd, &content, err) < 0)
		return FAIL_CONTEXT(err, "'%s'", path);
	b->size += content.size;
	if (++b->count > FILES_MAX || b->size > SIZE_MAX_BYTES)
		return FAIL(err, ERROR_TOO_LARGE, "a skill has at most %d files and %zu bytes",
		            FILES_MAX, SIZE_MAX_BYTES);
	json_begin_object(&b->files, NULL);
	json_add_text(&b->files, "path", path);
	json_add_bytes(&b->files, "content", buf_span(&content));
	json_end_object(&b->files);
	if (strcmp(path, MAIN_FILE) == 0)
		b->main_text = arena_copy(b->cli->arena, buf_span(&content));
	return 0;
}

static int add_folder(struct bundle *b, int fd, const char *path, unsigned depth);

static int add_entry(struct bundle *b, int folder, const char *path, unsigned depth)
{
	const struct fd_open_options options = {.flags = O_RDONLY | O_DIRECTORY};
	struct error *err = b->cli->err;
	struct stat st;
	int fd;

	if (fstatat(folder, path_last(path), &st, AT_SYMLINK_NOFOLLOW) < 0)
		return FAIL_ERRNO(err, "look at '%s'", path);
	if (S_ISREG(st.st_mode))
		return add_file(b, folder, path);
	if (!S_ISDIR(st.st_mode))
		return FAIL(err, ERROR_INVALID, "'%s' is neither a file nor a folder", path);
	if (depth == DEPTH_MAX)
		return FAIL(err, ERROR_TOO_LARGE, "'%s' is deeper than %d folders", path,
		            DEPTH_MAX);
	if (fd_open_beneath(folder, path_last(path), &options, &fd, err) < 0)
		return FAIL_CONTEXT(err, "'%s'", path);
	return add_folder(b, fd, path, depth + 1);
}

/* The listing takes the descriptor. */
static int add_folder(struct bundle *b, int fd, const char *path, unsigned depth)
{
	DIR *listing = fdopendir(fd);
	struct dirent *entry;
	int result = 0;

	if (!listing) {
		(void)close(fd);
		return FAIL_ERRNO(b->cli->err, "list '%s'", path);
	}
	while (result == 0 && (entry = readdir(listing))) {
		const char *name = entry->d_name;

		if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || strcmp(name, ".git") == 0)
			continue;
		result = add_entry(b, dirfd(listing),
		                   *path ? arena_format(b->cli->arena, "%s/%s", path, name)
		                         : arena_text(b->cli->arena, name),
		                   depth);
	}
	(void)closedir(listing);
	return result;
}

static int read_bundle(struct bundle *b, const char *folder)
{
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return FAIL_ERRNO(b->cli->err, "open folder '%s'", folder);
	if (add_folder(b, fd, "", 0) < 0)
		return -1;
	if (b->main_text)
		return 0;
	return FAIL(b->cli->err, ERROR_INVALID, "'%s' has no file " MAIN_FILE, folder);
}

/* The value of "description:" in the front matter of SKILL.md, between two "---" lines. */
static const char *own_description(struct arena *a, const char *text)
{
	static const char name[] = "description:";
	struct span rest = span_of(text), line;

	(void)span_split(&rest, '\n', &line);
	if (!span_equals_text(span_trim(line), "---"))
		return NULL;
	while (rest.size > 0) {
		(void)span_split(&rest, '\n', &line);
		if (span_equals_text(span_trim(line), "---"))
			return NULL;
		if (!span_starts_with(line, name))
			continue;
		span_skip(&line, sizeof(name) - 1);
		return arena_copy(a, span_trim(line));
	}
	return NULL;
}

static const char *name_of(struct cli *cli, const char *folder)
{
	AUTO_FREE char *whole = realpath(folder, NULL);

	return arguments_text(&cli->args, "name",
	                      arena_text(cli->arena, path_last(whole ? whole : folder)));
}

static int skill_add(struct cli *cli)
{
	const char *folder = cli->args.words[0];
	struct bundle b = {.cli = cli, .files = BUF(2 * SIZE_MAX_BYTES)};
	AUTO(buf_done) struct buf body = BUF(2 * SIZE_MAX_BYTES + 4096);
	const struct json_value *kept;
	struct server_call call = {.method = "PUT"};
	const char *description;
	int result = read_bundle(&b, folder);

	if (result == 0) {
		description = arguments_text(&cli->args, "description",
		                             own_description(cli->arena, b.main_text));
		body_begin(&body);
		json_add_text(&body, "description", description ? description : "");
		json_begin_list(&body, "files");
		buf_add_span(&body, buf_span(&b.files));
		json_end_list(&body);
		(void)body_end(&body);
	}
	buf_done(&b.files);
	if (result < 0)
		return -1;
	if (body.overflowed)
		return FAIL(cli->err, ERROR_TOO_LARGE, "the skill is too large");
	call.path = escaped_path(cli->arena, SKILLS "/", name_of(cli, folder), "");
	call.body = buf_text(&body);
	if (cli_connect(cli) < 0 || server_call(cli, &call, &kept) < 0)
		return -1;
	if (cli->json)
		print_json(kept);
	else
		(void)printf("%s: %lld files\n",
		             text_out_safe(cli->arena, json_get_text(kept, "name", "")),
		             (long long)json_get_whole(kept, "files", 0));
	return 0;
}

static const struct listing_column columns[] = {
        {"SKILL", "name", NULL},
        {"FILES", "files", NULL},
        {"SIZE", "size", listing_bytes},
        {"UPDATED", "updatedAt", NULL},
        {"DESCRIPTION", "description", NULL},
        {0},
};

static const struct command_option add_options[] = {
        {"name", "NAME", "name of the skill (default: the folder's)", .letter = 'n'},
        {"description", "TEXT",
         "when to use the skill (default: the description in " MAIN_FILE ")"},
        {0},
};
static const struct cli_command children[] = {
        {"ls", "", "list the skills that the tool load_skill can load",
         .operation = "GET /v1/skills", .columns = columns},
        {"add", "[OPTION...] FOLDER",
         "save a folder with a " MAIN_FILE " as a skill; replaces a skill of the same name",
         .options = add_options, .arguments_min = 1, .arguments_max = 1,
         .completion = COMPLETE_FOLDER, .run = skill_add},
        {"rm", "SKILL...", "remove skills", .operation = "DELETE /v1/skills/{skill}",
         .arguments_min = 1, .arguments_max = ANY_NUMBER, .removes = "skill"},
        {0},
};

const struct cli_command command_skill = {
        .name = "skill",
        .usage = "COMMAND",
        .about = "manage skills: folders of instructions and scripts for agents",
        .children = children,
};
