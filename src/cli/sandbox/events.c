/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "cli/sandbox/commands.h"
#include "cli/core/listing.h"
#include "cli/core/server.h"
#include "cli/core/text_out.h"

#define EVENTS "/v1/events"
#define LINE_MAX_SIZE (64 * 1024)
/* Pause before the next attempt to reach the server. */
#define AGAIN_MS 500

static const char *query_of(struct cli *cli, const char *first)
{
	static const char *const names[] = {"sandbox", "kind"};
	AUTO(buf_done) struct buf text = BUF(8192);

	buf_addf(&text, "%s?%s", EVENTS, first);
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		const char *value = arguments_text(&cli->args, names[i], NULL);

		if (!value)
			continue;
		buf_addf(&text, "&%s=", names[i]);
		http_escape(&text, value);
	}
	return arena_text(cli->arena, buf_text(&text));
}

static const struct listing_column columns[] = {
        {"TIME", "at", NULL},
        {"NUMBER", "sequence", NULL},
        {"KIND", "kind", NULL},
        {"SANDBOX", "sandbox", NULL},
        {"REASON", "reason", NULL},
        {"TEXT", "text", NULL},
        {0},
};

static int list_events(struct cli *cli, const char *first)
{
	const struct json_value *answer;

	if (server_get(cli, query_of(cli, first), &answer) < 0)
		return -1;
	if (cli->json)
		print_json(answer_items(answer));
	else
		listing_print(cli, answer_items(answer), columns);
	return 0;
}

struct event_follower {
	struct buf pending; /* an incomplete line */
	int64_t after;      /* the last event shown; -1 = none */
	bool as_json;
};

static void print_line(struct arena *a, const struct json_value *event)
{
	const char *reason = json_get_text(event, "reason", NULL);

	(void)printf("%s  %-17s %s  %s%s%s\n", text_out_safe(a, json_get_text(event, "at", "")),
	             text_out_safe(a, json_get_text(event, "kind", "")),
	             text_out_safe(a, json_get_text(event, "sandbox", "-")),
	             text_out_safe(a, json_get_text(event, "text", "")), reason ? ": " : "",
	             reason ? text_out_safe(a, reason) : "");
}

/* The event {"event":"lost",…} means that requested events were deleted already. */
static int take_line(struct event_follower *f, struct span line, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct json_value *event;

	if (json_load(&arena, line, &event, err) < 0)
		return FAIL_CONTEXT(err, "event");
	f->after = json_get_whole(event, "sequence", f->after);
	if (f->as_json)
		(void)printf("%.*s\n", (int)line.size, line.data);
	else if (json_get(event, "kind"))
		print_line(&arena, event);
	else
		(void)fprintf(stderr,
		              "atoll: some events are gone: the oldest that is kept is %" PRId64
		              "\n",
		              json_get_whole(event, "oldest", 0));
	return 0;
}

static int on_piece(void *context, struct span piece, struct error *err)
{
	struct event_follower *f = context;
	struct span rest, line;

	buf_add_span(&f->pending, piece);
	if (f->pending.overflowed)
		return FAIL(err, ERROR_TOO_LARGE, "an event is larger than %d bytes",
		            LINE_MAX_SIZE);
	rest = buf_span(&f->pending);
	while (span_find(rest, '\n') >= 0 && span_split(&rest, '\n', &line))
		if (line.size > 0 && take_line(f, line, err) < 0)
			return -1;
	buf_consume(&f->pending, f->pending.size - rest.size);
	return fflush(stdout) < 0 ? FAIL_ERRNO(err, "write to standard output") : 0;
}

static int follow_once(struct cli *cli, struct event_follower *f, struct server_stream *stream,
                       const char *first)
{
	struct http_call call = {.method = "GET"};
	int result;

	if (f->after >= 0)
		first = arena_format(cli->arena, "stream=ndjson&after=%" PRId64, f->after);
	call.path = query_of(cli, first);
	result = server_stream(cli, &call, stream);
	buf_reset(&f->pending);
	return result;
}

/* After a lost connection, asks again for the events after the last one shown. */
static int follow_events(struct cli *cli, const char *first)
{
	const struct timespec pause = {.tv_nsec = AGAIN_MS * 1000000L};
	struct event_follower f = {
	        .pending = BUF(LINE_MAX_SIZE), .after = -1, .as_json = cli->json};
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

static int run_events(struct cli *cli)
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
	return arguments_has(&cli->args, "follow") ? follow_events(cli, first)
	                                           : list_events(cli, first);
}

static const struct command_option options[] = {
        {"follow", NULL, "print new events as they happen", .letter = 'f'},
        {"sandbox", "SANDBOX", "only events of this sandbox", .completion = COMPLETE_SANDBOX},
        {"kind", "KIND", "kind of events, such as sandbox.failed or sandbox.*"},
        {"last", "COUNT", "print this many of the newest events (default 50)"},
        {"after", "NUMBER", "print the events after this one instead"},
        {0},
};

const struct cli_command command_events = {
        .name = "events",
        .usage = "[OPTION...]",
        .about = "show the events of sandboxes",
        .options = options,
        .run = run_events,
};
