/* SPDX-License-Identifier: Apache-2.0 */
/* `atoll diff` and `atoll revert`: the changes of a sandbox in git's format. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/core/body.h"
#include "cli/sandbox/commands.h"
#include "cli/core/server.h"
#include "cli/core/text_out.h"

#define PATCH_MAX ((size_t)64 << 20)
#define BODY_MAX (8 * 1024 * 1024)
#define STAT_WIDTH 40
#define NEXT_PAGE "# next_page: "

/* "/api/sandbox/instances/NAME/changes?path=…&base=…" */
static const char *make_path(struct cli *cli, const char *what, const char *page)
{
	const char *name = cli->args.words[0];
	const char *base = arguments_text(&cli->args, "base", NULL);
	AUTO(buf_done) struct buf out = BUF(64 * 1024);

	buf_add_text(&out, arguments_has(&cli->args, "snapshot")
	                           ? escaped_path(cli->arena, "/api/sandbox/snapshots/", name, what)
	                           : instance_path(cli->arena, name, what));
	buf_add_byte(&out, '?');
	if (cli->args.count > 1)
		buf_add_text(&out, escaped_path(cli->arena, "path=", cli->args.words[1], "&"));
	if (base)
		buf_add_text(&out, escaped_path(cli->arena, "base=", base, "&"));
	if (page)
		buf_add_text(&out, escaped_path(cli->arena, "page=", page, "&"));
	return arena_text(cli->arena, buf_text(&out));
}

/* Calls on_item for each item of all pages. */
static int each_item(struct cli *cli, const char *what,
                     void (*on_item)(struct cli *cli, void *context, const struct json_value *item),
                     void *context)
{
	const char *page = NULL;

	do {
		const struct json_value *answer, *items;

		if (server_get(cli, make_path(cli, what, page), &answer) < 0)
			return -1;
		items = answer_items(answer);
		for (size_t i = 0; i < json_count(items); i++)
			on_item(cli, context, json_item_at(items, i));
		page = json_get_text(answer, "next_page", NULL);
	} while (page);
	return 0;
}

static void print_item(UNUSED struct cli *cli, void *context, const struct json_value *item)
{
	AUTO(buf_done) struct buf out = BUF(PATCH_MAX);
	bool *is_first = context;

	json_print(&out, item, 0);
	(void)printf("%s%s", *is_first ? "" : ",\n", buf_text(&out));
	*is_first = false;
}

static int print_list(struct cli *cli)
{
	bool is_first = true;
	int status;

	(void)printf("[");
	status = each_item(cli, "/changes", print_item, &is_first);
	(void)printf("]\n");
	return status;
}

/* As in git: folders are not listed, their contents are. '\0' = not listed. */
static char letter_of(const struct json_value *item)
{
	static const struct {
		const char *kind;
		char letter;
	} letters[] = {{"added", 'A'}, {"deleted", 'D'}, {"modified", 'M'}, {"mode", 'M'}};
	bool was_folder = strcmp(json_get_text(item, "type_before", ""), "dir") == 0;
	bool is_folder = strcmp(json_get_text(item, "type", ""), "dir") == 0;
	const char *kind = json_get_text(item, "kind", "");

	if (strcmp(kind, "type") == 0)
		return was_folder ? 'A' : is_folder ? 'D' : 'T';
	if (was_folder != is_folder && !json_get_bool(item, "truncated", false))
		return '\0';
	for (unsigned i = 0; i < COUNT_OF(letters); i++)
		if (strcmp(kind, letters[i].kind) == 0)
			return letters[i].letter;
	return '?';
}

static void print_name(struct cli *cli, void *context, const struct json_value *item)
{
	const bool *with_status = context;
	char letter = letter_of(item);

	if (!letter)
		return;
	if (*with_status)
		(void)printf("%c\t", letter);
	(void)printf("%s\n", text_out_safe(cli->arena, json_get_text(item, "path", NULL)));
}

struct stat_sum {
	int64_t files, added, deleted;
};

static void print_marks(int64_t added, int64_t deleted)
{
	int64_t all = added + deleted, most = all < STAT_WIDTH ? all : STAT_WIDTH;
	int64_t plus = all ? (added * most + all - 1) / all : 0;

	for (int64_t i = 0; i < most; i++)
		(void)putchar(i < plus ? '+' : '-');
}

static void print_stat(struct cli *cli, void *context, const struct json_value *item)
{
	struct stat_sum *sum = context;
	int64_t added = json_get_whole(item, "lines_added", 0);
	int64_t deleted = json_get_whole(item, "lines_deleted", 0);
	const char *path = text_out_safe(cli->arena, json_get_text(item, "path", NULL));

	if (!letter_of(item))
		return;
	sum->files++;
	sum->added += added;
	sum->deleted += deleted;
	if (json_get_bool(item, "binary", false)) {
		(void)printf(" %s | Bin %lld -> %lld bytes\n", path,
		             (long long)json_get_whole(item, "size_before", 0),
		             (long long)json_get_whole(item, "size", 0));
		return;
	}
	(void)printf(" %s | %" PRId64 " ", path, added + deleted);
	print_marks(added, deleted);
	(void)printf("\n");
}

static int print_stats(struct cli *cli)
{
	struct stat_sum sum = {0};

	if (each_item(cli, "/diff", print_stat, &sum) < 0)
		return -1;
	if (sum.files > 0)
		(void)printf(" %lld file%s changed, %lld insertion%s(+), %lld deletion%s(-)\n",
		             (long long)sum.files, sum.files == 1 ? "" : "s", (long long)sum.added,
		             sum.added == 1 ? "" : "s", (long long)sum.deleted,
		             sum.deleted == 1 ? "" : "s");
	return 0;
}

/* A terminal gets no control characters, which a file may hold. A pipe gets the patch unchanged. */
static void print_patch(struct span text)
{
	bool is_terminal = isatty(STDOUT_FILENO);

	for (size_t i = 0; is_terminal && i < text.size; i++) {
		unsigned char byte = (unsigned char)text.data[i];
		bool is_control = (byte < ' ' && byte != '\n' && byte != '\t') || byte == 0x7f;

		(void)putchar(is_control ? '?' : byte);
	}
	if (!is_terminal && text.size > 0)
		(void)fwrite(text.data, 1, text.size, stdout);
}

/* Every page but the last ends with a line that no line of a patch can be mistaken for. */
static const char *cut_next_page(struct cli *cli, struct span *text)
{
	size_t begin = text->size;
	struct span line;

	while (begin > 0 && (begin == text->size || text->data[begin - 1] != '\n'))
		begin--;
	line = (struct span){text->data + begin, text->size - begin};
	if (!span_starts_with(line, NEXT_PAGE))
		return NULL;
	text->size = begin;
	line.data += strlen(NEXT_PAGE);
	line.size -= strlen(NEXT_PAGE) + 1;
	return arena_copy(cli->arena, line);
}

static int print_patches(struct cli *cli)
{
	const char *page = NULL;

	do {
		const struct http_call call = {
		        .method = "GET",
		        .path = arena_format(cli->arena, "%sformat=patch",
		                             make_path(cli, "/diff", page)),
		};
		struct http_answer answer;
		struct span text;

		if (http_client_call(cli->client, &call, &answer, cli->err) < 0)
			return -1;
		text = buf_span(&answer.body);
		page = cut_next_page(cli, &text);
		print_patch(text);
		buf_done(&answer.body);
	} while (page);
	return 0;
}

static int run_diff(struct cli *cli)
{
	bool with_status = arguments_has(&cli->args, "name-status");

	if (cli_connect(cli) < 0)
		return -1;
	if (cli->json)
		return print_list(cli);
	if (with_status || arguments_has(&cli->args, "name-only"))
		return each_item(cli, "/changes", print_name, &with_status);
	return arguments_has(&cli->args, "stat") ? print_stats(cli) : print_patches(cli);
}

static int print_reverted(struct cli *cli, const struct json_value *items)
{
	int status = 0;

	for (size_t i = 0; i < json_count(items); i++) {
		const struct json_value *item = json_item_at(items, i);
		const char *path = text_out_safe(cli->arena, json_get_text(item, "path", NULL));

		if (json_get_bool(item, "ok", false)) {
			(void)printf("%s: %lld restored, %lld removed\n", path,
			             (long long)json_get_whole(item, "restored", 0),
			             (long long)json_get_whole(item, "removed", 0));
			continue;
		}
		(void)fprintf(stderr, "%s: %s\n", path,
		              text_out_safe(cli->arena, json_get_text(item, "message", NULL)));
		status = 1;
	}
	return status;
}

static int run_revert(struct cli *cli)
{
	AUTO(buf_done) struct buf body = BUF(BODY_MAX);
	struct server_call call = {
	        .method = "POST",
	        .path = instance_path(cli->arena, cli->args.words[0], "/changes/revert")};
	const struct json_value *answer;

	body_begin(&body);
	body_add_texts(&body, "paths", cli->args.words + 1);
	body_add_text(&body, "base", arguments_text(&cli->args, "base", NULL));
	call.body = body_end(&body);
	if (cli_connect(cli) < 0 || server_call(cli, &call, &answer) < 0)
		return -1;
	if (cli->json) {
		print_json(answer);
		return 0;
	}
	return print_reverted(cli, answer_items(answer));
}

#define BASE_OPTION                                                                                \
	{                                                                                          \
		"base", "SNAPSHOT", "compare with this snapshot (default: with the template)",     \
		        .letter = 'b'                                                              \
	}
static const struct command_option diff_options[] = {
        BASE_OPTION,
        {"name-only", NULL, "print only the paths"},
        {"name-status", NULL, "print the paths with A, D, M or T"},
        {"stat", NULL, "print the number of changed lines per file"},
        {"snapshot", NULL, "the name is a snapshot's: show its changes to its parent"},
        {0},
};
static const struct command_option revert_options[] = {
        BASE_OPTION,
        {0},
};

const struct cli_command command_diff = {
        .name = "diff",
        .usage = "[--base SNAPSHOT] [--name-only|--name-status|--stat] SANDBOX [PATH]",
        .about = "show the changes of a sandbox's files as a patch",
        .options = diff_options,
        .arguments_min = 1,
        .arguments_max = 2,
        .completion = COMPLETE_SANDBOX,
        .run = run_diff,
};

const struct cli_command command_revert = {
        .name = "revert",
        .usage = "[--base SNAPSHOT] SANDBOX PATH...",
        .about = "restore files and folders of a sandbox",
        .options = revert_options,
        .arguments_min = 2,
        .arguments_max = ANY_NUMBER,
        .completion = COMPLETE_SANDBOX,
        .run = run_revert,
};
