/* SPDX-License-Identifier: Apache-2.0 */
/* atoll audit ls|export|verify. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "audit/verify.h"
#include "base/clock.h"
#include "base/fd.h"
#include "cli/account/commands.h"
#include "cli/core/listing.h"
#include "cli/core/server.h"
#include "cli/core/text_out.h"
#include "http/client/client.h"
#include "json/write.h"

#define STATUS_WRONG 1 /* exit status: a row is wrong */
#define READ_SIZE ((size_t)64 * 1024)

static const char *const filters[] = {"organization", "user",   "key",   "target", "request",
                                      "action",       "result", "since", "until",  NULL};

#define FILTER_OPTIONS                                                                             \
	{"all", NULL, "rows of all projects and of the server; for its operator"},                 \
	        {"organization", "ID", "rows of all projects of this organisation"},               \
	        {"user", "USER", "only what this user did"},                                       \
	        {"key", "KEY", "only what was done with this key, by its id"},                     \
	        {"target", "ID", "only what was done to this thing"},                              \
	        {"request", "ID", "only this request"},                                            \
	        {"action", "ACTION", "only this action, such as keys.create or projects.*"},       \
	        {"result", "RESULT", "only ok, refused, failed or interrupted"},                   \
	        {"since", "TIME", "not before, such as 2026-11-01T00:00:00Z"},                     \
	{                                                                                          \
		"until", "TIME", "before"                                                          \
	}

/* "PATH?FIRST" and the options that filter. */
static const char *query_of(struct cli *cli, const char *path, const char *first)
{
	AUTO(buf_done) struct buf text = BUF(16384);

	buf_addf(&text, "%s?%s", path, first);
	for (size_t i = 0; filters[i]; i++) {
		const char *value = arguments_text(&cli->args, filters[i], NULL);

		if (!value)
			continue;
		buf_addf(&text, "&%s=", filters[i]);
		http_escape(&text, value);
	}
	if (arguments_has(&cli->args, "all"))
		buf_add_text(&text, "&all=true");
	return arena_text(cli->arena, buf_text(&text));
}

static const struct listing_column columns[] = {
        {"NUMBER", "sequence", NULL}, {"TIME", "at", NULL},
        {"RESULT", "result", NULL},   {"ACTION", "action", NULL},
        {"TARGET", "target", NULL},   {"USER", "user", NULL},
        {"KEY", "key", NULL},         {"ADDRESS", "address", NULL},
        {"PROJECT", "project", NULL}, {0},
};

static int run_ls(struct cli *cli)
{
	const struct json_value *answer;
	int64_t last = 50, before = 0;
	const char *first;

	if (arguments_whole(&cli->args, "last", 1, &last, cli->err) < 0 ||
	    arguments_whole(&cli->args, "before", 1, &before, cli->err) < 0)
		return -1;
	first = before ? arena_format(cli->arena, "limit=%" PRId64 "&before=%" PRId64, last, before)
	               : arena_format(cli->arena, "limit=%" PRId64, last);
	if (cli_connect(cli) < 0 || server_get(cli, query_of(cli, "/v1/audit", first), &answer) < 0)
		return -1;
	if (cli->json)
		print_json(answer_items(answer));
	else
		listing_print(cli, answer_items(answer), columns);
	return 0;
}

/* Where the lines of an export go. */
struct line_sink {
	int (*on_line)(struct line_sink *sink, struct span line, struct error *err);
	struct audit_verifier verifier;
	int fd; /* of a file that is written; -1 = none */
};

/* Where an export has arrived, by its last line. */
struct export_place {
	int64_t last;   /* number of the last row */
	bool is_signed; /* the last line is a checkpoint */
};

static void note_place(struct export_place *place, struct span line)
{
	static const char *const starts[] = {
	        "{\"v\":1,\"checkpoint\":", "{\"v\":1,\"sequence\":", "{\"v\":1,\"hidden\":"};
	struct error ignored = {0};
	struct span number;
	int64_t sequence;

	for (size_t i = 0; i < COUNT_OF(starts); i++) {
		if (!span_starts_with(line, starts[i]))
			continue;
		line = span_after(line, strlen(starts[i]));
		(void)span_split(&line, ',', &number);
		if (span_parse_whole(number, 0, INT64_MAX, &sequence, &ignored) < 0)
			return;
		*place = (struct export_place){sequence, i == 0};
		return;
	}
}

static int take_page(struct line_sink *sink, struct span page, struct export_place *place,
                     struct error *err)
{
	struct span line;

	while (page.size > 0) {
		(void)span_split(&page, '\n', &line);
		note_place(place, line);
		if (sink->on_line(sink, line, err) < 0)
			return -1;
	}
	return 0;
}

static int get_page(struct cli *cli, const char *first, struct line_sink *sink,
                    struct export_place *place)
{
	struct http_call call = {.method = "GET",
	                         .path = query_of(cli, "/v1/audit/export", first),
	                         .accept = "application/x-ndjson"};
	struct http_answer answer;
	int result;

	if (http_client_call(cli->client, &call, &answer, cli->err) < 0)
		return -1;
	if (answer.status != 200)
		result = FAIL(cli->err, ERROR_UNAVAILABLE, "the server answers %d to the export",
		              answer.status);
	else
		result = take_page(sink, buf_span(&answer.body), place, cli->err);
	buf_done(&answer.body);
	return result;
}

/* Until the row that is the newest at the begin is signed: a busy server has always more. */
static int read_export(struct cli *cli, struct line_sink *sink)
{
	struct export_place place = {0};
	const struct json_value *key;
	int64_t newest, from = 0, before;
	const char *first;

	if (arguments_whole(&cli->args, "from", 1, &from, cli->err) < 0 || cli_connect(cli) < 0 ||
	    server_get(cli, "/v1/audit/key", &key) < 0)
		return -1;
	newest = json_get_whole(key, "sequence", 0);
	first = arena_format(cli->arena, "from=%" PRId64, from);
	do {
		before = place.last;
		if (get_page(cli, first, sink, &place) < 0)
			return -1;
		if (place.last < newest && place.last <= before && before > 0)
			return FAIL(cli->err, ERROR_UNAVAILABLE,
			            "the export stops at row %" PRId64 " of %" PRId64, place.last,
			            newest);
		first = arena_format(cli->arena, "after=%" PRId64, place.last);
	} while (place.last < newest || (newest > 0 && !place.is_signed));
	return 0;
}

static int write_line(struct line_sink *sink, struct span line, struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(SIZE_MAX / 2);

	buf_add_span(&text, line);
	buf_add_byte(&text, '\n');
	return fd_write_all(sink->fd, text.data, text.size, err);
}

static int run_export(struct cli *cli)
{
	const char *path = arguments_text(&cli->args, "output", NULL);
	struct line_sink sink = {.on_line = write_line, .fd = STDOUT_FILENO};
	AUTO_CLOSE int fd = -1;

	if (path) {
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd < 0)
			return FAIL_ERRNO(cli->err, "make '%s'", path);
		sink.fd = fd;
	}
	if (read_export(cli, &sink) < 0)
		return -1;
	return fd >= 0 && fsync(fd) < 0 ? FAIL_ERRNO(cli->err, "write '%s'", path) : 0;
}

static int verify_line(struct line_sink *sink, struct span line, struct error *err)
{
	return audit_verify_line(&sink->verifier, line, err);
}

/* Lines may be split between two reads; a line that is too long is refused before it is whole. */
static int verify_file(int fd, struct line_sink *sink, struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(AUDIT_LINE_MAX + READ_SIZE + 1);
	struct span rest, line;

	for (;;) {
		char *room = buf_reserve(&text, READ_SIZE);
		ssize_t size = room ? read(fd, room, READ_SIZE) : -1;

		if (!room)
			return FAIL(err, ERROR_TOO_LARGE,
			            "line %" PRIu64 " is longer than %d bytes",
			            sink->verifier.lines + 1, AUDIT_LINE_MAX);
		if (size < 0)
			return FAIL_ERRNO(err, "read the export");
		if (size == 0)
			break;
		buf_commit(&text, (size_t)size);
		rest = buf_span(&text);
		while (span_find(rest, '\n') >= 0 && span_split(&rest, '\n', &line))
			if (verify_line(sink, line, err) < 0)
				return -1;
		buf_consume(&text, text.size - rest.size);
	}
	if (text.size > 0)
		return FAIL(err, ERROR_CONFLICT,
		            "the last line is not whole: the export was cut off");
	return 0;
}

/* "NUMBER:HASH", as the server's log and DATA/audit/checkpoints.jsonl have it. */
static int parse_checkpoint(const char *text, struct audit_checkpoint *ret, struct error *err)
{
	struct span rest = span_of(text), number;

	if (!span_split(&rest, ':', &number) ||
	    span_parse_whole(number, 1, INT64_MAX, &ret->sequence, err) < 0 ||
	    hex_decode(rest, ret->hash, AUDIT_HASH_SIZE) < 0) {
		(void)FAIL(err, ERROR_INVALID, "--checkpoint is not NUMBER:HASH");
		return FAIL_HINT(err, "take both from a line of DATA/audit/checkpoints.jsonl, such "
		                      "as --checkpoint 1000:ab12…, with all 64 digits");
	}
	return 0;
}

static void print_verified(struct cli *cli, const struct audit_verifier *v)
{
	AUTO(buf_done) struct buf out = BUF(8192), time = BUF(64);
	char key[AUDIT_HEX_SIZE], hash[AUDIT_HEX_SIZE];

	hex_encode(v->export_key, AUDIT_KEY_SIZE, key);
	hex_encode(v->hash, AUDIT_HASH_SIZE, hash);
	clock_format(&time, v->signed_at);
	if (cli->json) {
		json_begin_object(&out, NULL);
		json_add_text(&out, "chain", v->chain);
		json_add_text(&out, "filter", v->filter);
		json_add_whole(&out, "first", v->first);
		json_add_whole(&out, "last", v->last);
		json_add_whole(&out, "rows", (int64_t)v->rows);
		json_add_whole(&out, "hidden", (int64_t)v->hidden);
		json_add_whole(&out, "checkpoints", (int64_t)v->checkpoints);
		json_add_text(&out, "hash", hash);
		json_add_text(&out, "key", key);
		json_add_time(&out, "signed_at", v->signed_at);
		json_end_object(&out);
		(void)printf("%s\n", buf_text(&out));
		return;
	}
	if (v->first == 0) {
		(void)printf("ok: the export has no rows\n");
		return;
	}
	(void)printf("ok: rows %" PRId64 " to %" PRId64 " are whole and in order; last signed %s\n",
	             v->first, v->last, buf_text(&time));
	if (v->filter[0])
		(void)printf("    %" PRIu64 " rows are shown, %" PRIu64
		             " only as digests, by the filter '%s'\n",
		             v->rows, v->hidden, text_out_safe(cli->arena, v->filter));
	(void)printf("    key %s%s\n", key,
	             v->key ? "" : " (as the export says; compare it with --key)");
	(void)printf("    checkpoint %" PRId64 ":%s\n", v->last, hash);
}

static int run_verify(struct cli *cli)
{
	const char *path = cli->args.count > 0 ? cli->args.words[0] : NULL;
	const char *key_text = arguments_text(&cli->args, "key", NULL);
	const char *known_text = arguments_text(&cli->args, "checkpoint", NULL);
	struct line_sink sink = {.on_line = verify_line, .fd = -1};
	struct audit_checkpoint known;
	unsigned char key[AUDIT_KEY_SIZE];
	AUTO_CLOSE int fd = -1;
	int result;

	if (key_text && hex_decode(span_of(key_text), key, sizeof(key)) < 0)
		return FAIL(cli->err, ERROR_INVALID, "--key is not 64 hexadecimal digits");
	if (known_text && parse_checkpoint(known_text, &known, cli->err) < 0)
		return -1;
	sink.verifier.key = key_text ? key : NULL;
	sink.verifier.known = known_text ? &known : NULL;
	if (path && strcmp(path, "-") != 0) {
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			return FAIL_ERRNO(cli->err, "open '%s'", path);
	}
	result = path ? verify_file(fd >= 0 ? fd : STDIN_FILENO, &sink, cli->err)
	              : read_export(cli, &sink);
	if (result == 0)
		result = audit_verify_end(&sink.verifier, cli->err);
	if (result < 0 && cli->err->code != ERROR_CONFLICT)
		return -1;
	if (result < 0) {
		text_out_error(cli->arena,
		               arena_format(cli->arena, "%s: ", path ? path : "the audit"),
		               cli->err);
		return STATUS_WRONG;
	}
	print_verified(cli, &sink.verifier);
	return 0;
}

static const struct command_option ls_options[] = {
        {"last", "COUNT", "print this many of the newest rows (default 50, at most 1000)"},
        {"before", "NUMBER", "the newest before this row"},
        FILTER_OPTIONS,
        {0},
};
static const struct command_option export_options[] = {
        {"output", "FILE", "write to this new file instead of standard output", .letter = 'o',
         .completion = COMPLETE_FILE},
        {"from", "NUMBER", "begin at the last checkpoint before this row"},
        FILTER_OPTIONS,
        {0},
};
static const struct command_option verify_options[] = {
        {"key", "HEX", "the public key that must have signed, see GET /v1/audit/key"},
        {"checkpoint", "NUMBER:HASH", "a checkpoint from elsewhere that the rows must match"},
        {"from", "NUMBER", "begin at the last checkpoint before this row"},
        {"all", NULL, "rows of all projects and of the server; for its operator"},
        {"organization", "ID", "rows of all projects of this organisation"},
        {0},
};

static const struct cli_command children[] = {
        {.name = "ls",
         .usage = "[OPTION...]",
         .about = "list who did what",
         .options = ls_options,
         .run = run_ls},
        {.name = "export",
         .usage = "[OPTION...]",
         .about = "print the audit as JSON lines that verify without the server",
         .options = export_options,
         .run = run_export},
        {.name = "verify",
         .usage = "[OPTION...] [FILE]",
         .about = "find removed, changed, inserted and reordered rows",
         .more = "With FILE, an export is checked without any server; - is standard input. Without "
                 "it the server's rows are fetched and checked here. The exit status is 1 when a "
                 "row is wrong.",
         .options = verify_options,
         .arguments_max = 1,
         .completion = COMPLETE_FILE,
         .run = run_verify},
        {0},
};

const struct cli_command command_audit = {
        .name = "audit",
        .usage = "COMMAND",
        .about = "show, export and verify who did what",
        .children = children,
};
