/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/sandbox/log_view.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/core/server.h"
#include "cli/core/text_out.h"

#define LINE_MAX_SIZE (64 * 1024)
/* Pause before the next attempt to reach the server. */
#define AGAIN_MS 500

static void add_parameter(struct buf *text, const char *name, const char *value)
{
	buf_addf(text, "&%s=", name);
	http_escape(text, value);
}

static const char *query_of(struct cli *cli, const struct log_view *v, const char *first)
{
	AUTO(buf_done) struct buf text = BUF(8192);

	buf_addf(&text, "%s?%s", v->path, first);
	for (size_t i = 0; v->filters[i]; i++) {
		const char *value = arguments_text(&cli->args, v->filters[i], NULL);

		if (value)
			add_parameter(&text, v->filters[i], value);
	}
	if (v->sandbox)
		add_parameter(&text, "sandbox", v->sandbox);
	return arena_text(cli->arena, buf_text(&text));
}

static int list_rows(struct cli *cli, const struct log_view *v, const char *first)
{
	const struct json_value *answer;

	if (server_get(cli, query_of(cli, v, first), &answer) < 0)
		return -1;
	if (cli->json)
		print_json(answer_items(answer));
	else
		listing_print(cli, answer_items(answer), v->columns);
	return 0;
}

struct log_follower {
	const struct log_view *view;
	struct buf pending; /* an incomplete line */
	int64_t after;      /* the last row shown; -1 = none */
	bool as_json;
};

/* The row {"event":"lost",…} means that requested rows were deleted already. */
static int take_line(struct log_follower *f, struct span line, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct json_value *row;

	if (json_load(&arena, line, &row, err) < 0)
		return FAIL_CONTEXT(err, "a row of %s", f->view->path);
	f->after = json_get_whole(row, "sequence", f->after);
	if (f->as_json)
		(void)printf("%.*s\n", (int)line.size, line.data);
	else if (json_get(row, "kind"))
		f->view->print(&arena, row);
	else
		(void)fprintf(stderr,
		              "atoll: some rows are gone: the oldest that is kept is %" PRId64 "\n",
		              json_get_whole(row, "oldest", 0));
	return 0;
}

static int on_piece(void *context, struct span piece, struct error *err)
{
	struct log_follower *f = context;
	struct span rest, line;

	buf_add_span(&f->pending, piece);
	if (f->pending.overflowed)
		return FAIL(err, ERROR_TOO_LARGE, "a row is larger than %d bytes", LINE_MAX_SIZE);
	rest = buf_span(&f->pending);
	while (span_find(rest, '\n') >= 0 && span_split(&rest, '\n', &line))
		if (line.size > 0 && take_line(f, line, err) < 0)
			return -1;
	buf_consume(&f->pending, f->pending.size - rest.size);
	return fflush(stdout) < 0 ? FAIL_ERRNO(err, "write to standard output") : 0;
}

static int follow_once(struct cli *cli, struct log_follower *f, struct server_stream *stream,
                       const char *first)
{
	struct http_call call = {.method = "GET"};
	int result;

	if (f->after >= 0)
		first = arena_format(cli->arena, "stream=ndjson&after=%" PRId64, f->after);
	call.path = query_of(cli, f->view, first);
	result = server_stream(cli, &call, stream);
	buf_reset(&f->pending);
	return result;
}

/* After a lost connection, asks again for the rows after the last one shown. */
static int follow_rows(struct cli *cli, const struct log_view *v, const char *first)
{
	const struct timespec pause = {.tv_nsec = AGAIN_MS * 1000000L};
	struct log_follower f = {
	        .view = v, .pending = BUF(LINE_MAX_SIZE), .after = -1, .as_json = cli->json};
	struct server_stream stream = {on_piece, &f};
	int result;

	first = arena_format(cli->arena, "stream=ndjson&%s", first);
	do {
		result = follow_once(cli, &f, &stream, first);
		if (result < 0 &&
		    (stream.failed || f.after < 0 || cli->err->code != ERROR_UNAVAILABLE))
			break;
		error_clear(cli->err);
		(void)nanosleep(&pause, NULL);
	} while (f.after >= 0);
	buf_done(&f.pending);
	return result;
}

static int on_csv(UNUSED void *context, struct span piece, struct error *err)
{
	return fd_write_all(STDOUT_FILENO, piece.data, piece.size, err);
}

static int print_csv(struct cli *cli, const struct log_view *v, const char *first)
{
	struct http_call call = {.method = "GET"};
	struct server_stream stream = {on_csv, NULL};

	call.path = query_of(cli, v, arena_format(cli->arena, "format=csv&%s", first));
	return server_stream(cli, &call, &stream);
}

int log_view_run(struct cli *cli, const struct log_view *v)
{
	int64_t after = -1, last = 50;
	const char *first;

	if (arguments_whole(&cli->args, "after", 0, &after, cli->err) < 0 ||
	    arguments_whole(&cli->args, "last", 1, &last, cli->err) < 0)
		return -1;
	first = after >= 0 ? arena_format(cli->arena, "after=%" PRId64, after)
	                   : arena_format(cli->arena, "last=%" PRId64, last);
	if (cli_connect(cli) < 0)
		return -1;
	if (arguments_has(&cli->args, "follow"))
		return follow_rows(cli, v, first);
	return v->as_csv ? print_csv(cli, v, first) : list_rows(cli, v, first);
}
