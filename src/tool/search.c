/* SPDX-License-Identifier: Apache-2.0 */
/* Both programs print PATH NUL LINE ':' TEXT, '-' for a line of context, and "--" for a gap. */
#include "tool/search.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/clock.h"
#include "provider/agent_reader.h"
#include "provider/compute.h"
#include "provider/compute_run.h"
#include "provider/provider.h"
#include "wire/agent.h"
#include "wire/agent_files.h"
#include "wire/wire.h"

#define OUTPUT_MAX ((size_t)4 * 1024 * 1024)
#define COMPLAINT_MAX ((size_t)16 * 1024)
#define RUN_MS 60000
#define ARGS_MAX 32
#define AGENT_RUN_MS 75000 /* the agent itself stops after 60 s */
#define CONTEXT_MAX 1000

struct search_arguments {
	struct arena *arena;
	const char **items;
	size_t count;
};

static void add_argument(struct search_arguments *args, const char *text)
{
	if (text && args->count + 1 < ARGS_MAX)
		args->items[args->count++] = text;
}

static void add_number(struct search_arguments *args, const char *name, int64_t value)
{
	if (value > 0)
		add_argument(args, arena_format(args->arena, "%s=%" PRId64, name, value));
}

static void add_end(struct search_arguments *args, const struct search_request *s)
{
	add_argument(args, arena_format(args->arena, "--regexp=%s", s->pattern));
	add_argument(args, "--");
	add_argument(args, arena_format(args->arena, "./%s", s->path));
}

static const char **rg_args(struct arena *a, const struct search_request *s)
{
	static const char *const modes[] = {"--files-with-matches", "--line-number", "--count"};
	struct search_arguments args = {a, ARENA_ARRAY(a, const char *, ARGS_MAX)};

	add_argument(&args, "rg");
	add_argument(&args, "--no-config");
	add_argument(&args, "--no-heading");
	add_argument(&args, "--with-filename");
	add_argument(&args, "--null");
	add_argument(&args, "--color=never");
	add_argument(&args, "--max-columns=4096");
	add_argument(&args, "--max-columns-preview");
	add_argument(&args, modes[s->mode]);
	add_argument(&args, s->ignore_case ? "--ignore-case" : NULL);
	add_argument(&args, s->multiline ? "--multiline" : NULL);
	add_argument(&args, s->multiline ? "--multiline-dotall" : NULL);
	add_number(&args, "--before-context", s->before);
	add_number(&args, "--after-context", s->after);
	add_argument(&args, s->glob ? arena_format(a, "--glob=%s", s->glob) : NULL);
	add_argument(&args, s->type ? arena_format(a, "--type=%s", s->type) : NULL);
	add_end(&args, s);
	return args.items;
}

static const char **grep_args(struct arena *a, const struct search_request *s)
{
	static const char *const modes[] = {"--files-with-matches", "--line-number", "--count"};
	struct search_arguments args = {a, ARENA_ARRAY(a, const char *, ARGS_MAX)};

	add_argument(&args, "grep");
	add_argument(&args, "-rHZIE");
	add_argument(&args, "--color=never");
	add_argument(&args, modes[s->mode]);
	add_argument(&args, s->ignore_case ? "-i" : NULL);
	add_number(&args, "--before-context", s->before);
	add_number(&args, "--after-context", s->after);
	add_argument(&args, s->glob ? arena_format(a, "--include=%s", s->glob) : NULL);
	add_end(&args, s);
	return args.items;
}

/* The programs follow a link on their command line, so its target must be inside the root. */
static int check_inside(struct arena *a, const struct search_scope *place, const char *path,
                        struct error *err)
{
	const struct agent_path message = {.root = place->root,
	                                   .path = path,
	                                   .user = place->user,
	                                   .flags = AGENT_PATH_BENEATH};
	const struct compute_file stat = {AGENT_STAT, &message, place->deadline};

	return compute_file(place->provider, place->id, a, &stat, NULL, err);
}

struct search_output {
	struct buf out, complaint;
	bool is_full;
};

static void search_output_done(struct search_output *o)
{
	buf_done(&o->out);
	buf_done(&o->complaint);
}

/* Fails when the buffer is full, which ends the program. */
static int on_output(void *context, const struct agent_output *output, struct error *err)
{
	struct search_output *o = context;

	if (output->stream == AGENT_STDERR) {
		buf_add_span(&o->complaint, output->bytes);
		return 0;
	}
	buf_add_span(&o->out, output->bytes);
	o->is_full = o->out.overflowed;
	return o->is_full ? FAIL(err, ERROR_TOO_LARGE, "enough was found") : 0;
}

/* Fails with the last line of the complaint: rg prints the pattern before it. */
static int fail_search(struct span rest, struct error *err)
{
	struct span line, last = SPAN("the search failed");

	while (rest.size > 0) {
		(void)span_split(&rest, '\n', &line);
		if (line.size > 0 && line.size < 200 && span_is_utf8(line))
			last = line;
	}
	return FAIL(err, ERROR_INVALID, "%.*s", (int)last.size, last.data);
}

static int run_program(struct arena *a, const struct search_scope *place, const char **args,
                       struct search_output *output, bool *ret_truncated, struct error *err)
{
	const struct agent_exec exec = {
	        .args = args,
	        .env = place->env,
	        .cwd = place->root,
	        .user = place->user,
	        .label = "grep",
	        .timeout_ms = RUN_MS,
	};
	const struct compute_run options = {.exec = &exec,
	                                    .deadline = place->deadline,
	                                    .cancel = place->cancel,
	                                    .on_output = on_output,
	                                    .context = output};
	struct compute_result result;

	if (compute_run(place->provider, place->id, a, &options, &result, err) < 0) {
		if (!output->is_full)
			return -1;
		error_clear(err);
		*ret_truncated = true;
		return 0;
	}
	*ret_truncated = result.process.timed_out;
	/* 0 = found, 1 = nothing found; higher = an error, perhaps after matches. */
	if (result.process.exit_code > 1 && output->out.size == 0 && !result.process.timed_out)
		return fail_search(buf_span(&output->complaint), err);
	return 0;
}

/* Searches by the agent, which needs no program in the sandbox. */
static int search_by_agent(struct arena *a, const struct search_scope *place,
                           const struct search_request *s, struct search_output *output,
                           bool *ret_truncated, struct error *err)
{
	AUTO(agent_reader_done) struct agent_reader r;
	const struct agent_path message = {
	        .root = place->root,
	        .path = s->path,
	        .user = place->user,
	        .target = arena_format(a, "%s\n%s", s->glob ? s->glob : "", s->pattern),
	        .mode = s->mode,
	        .flags = AGENT_PATH_BENEATH | (s->ignore_case ? AGENT_PATH_IGNORE_CASE : 0),
	        .depth = s->before < CONTEXT_MAX ? (uint32_t)s->before : CONTEXT_MAX,
	        .offset = s->after < CONTEXT_MAX ? (uint64_t)s->after : CONTEXT_MAX,
	};
	const struct compute_request request = {AGENT_SEARCH, agent_path_shape, &message, NULL};
	int64_t deadline = deadline_after(AGENT_RUN_MS);
	struct agent_done done = {.count = 0};

	if (place->deadline < deadline)
		deadline = place->deadline;
	agent_reader_init(&r, place->provider, place->id,
	                  &(struct agent_limits){.deadline = deadline, .cancel = place->cancel});
	if (agent_reader_ask(&r, &request, err) < 0)
		return -1;
	while (!r.has_ended && !output->out.overflowed) {
		if (agent_reader_next(&r, err) < 0)
			return FAIL_CONTEXT(err, "search");
		if (r.type == AGENT_DATA)
			buf_add_span(&output->out, buf_span(&r.payload));
	}
	if (r.has_ended &&
	    wire_decode(a, buf_span(&r.payload), agent_done_shape, &done, sizeof(done), err) < 0)
		return -1;
	*ret_truncated = output->out.overflowed || done.count > 0;
	return 0;
}

/* grep's --include has neither folders nor braces. */
static bool grep_supports_glob(const struct search_request *s)
{
	return !s->glob || !strpbrk(s->glob, "/{");
}

static int run_search(struct arena *a, const struct search_scope *place,
                      const struct search_request *asked, struct search_output *output,
                      bool *ret_truncated, struct error *err)
{
	struct search_request own = *asked, *s = &own;

	if (run_program(a, place, rg_args(a, s), output, ret_truncated, err) == 0)
		return 0;
	if (err->code != ERROR_NOT_FOUND)
		return -1;
	if (s->multiline || s->type) {
		(void)FAIL(err, ERROR_UNSUPPORTED, "this template cannot search by %s",
		           s->type ? "type" : "several lines");
		return FAIL_HINT(err, "it has no rg: install ripgrep, or use glob");
	}
	error_clear(err);
	if (search_pattern_to_posix(a, asked->pattern, &own.pattern, err) < 0)
		return -1;
	if (grep_supports_glob(s)) {
		if (run_program(a, place, grep_args(a, s), output, ret_truncated, err) == 0)
			return 0;
		if (err->code != ERROR_NOT_FOUND)
			return -1;
		error_clear(err);
	}
	return search_by_agent(a, place, s, output, ret_truncated, err);
}

static struct span without_dot(struct span path)
{
	while (span_starts_with(path, "./"))
		span_skip(&path, 2);
	return path;
}

static bool take_number(struct span *rest, int64_t *ret)
{
	struct span digits = {rest->data, 0};

	while (digits.size < rest->size && rest->data[digits.size] >= '0' &&
	       rest->data[digits.size] <= '9')
		digits.size++;
	if (digits.size == 0 || span_parse_whole(digits, 0, INT64_MAX, ret, &(struct error){0}) < 0)
		return false;
	span_skip(rest, digits.size);
	return true;
}

/* Cuts the path from the line. Size 0 for a gap and for a line of another form. */
static struct span take_path(struct span *line)
{
	struct span path, whole = *line;

	if (span_split(line, '\0', &path))
		return without_dot(path);
	*line = whole;
	return (struct span){NULL, 0};
}

bool search_line_next(struct span *rest, struct search_line *ret)
{
	struct span line;

	while (rest->size > 0) {
		(void)span_split(rest, '\n', &line);
		*ret = (struct search_line){.number = 0};
		if (span_equals_text(line, "--"))
			return true;
		if (take_path(&line).size == 0 || !take_number(&line, &ret->number) ||
		    line.size == 0 || ret->number == 0)
			continue;
		ret->is_context = line.data[0] == '-';
		ret->text = (struct span){line.data + 1, line.size - 1};
		return true;
	}
	return false;
}

struct search_files {
	struct arena *arena;
	struct search_found *found;
	size_t room;
};

static struct search_file *add_search_file(struct search_files *l, struct span path)
{
	struct search_found *f = l->found;

	if (f->count == l->room) {
		struct search_file *grown =
		        ARENA_ARRAY(l->arena, struct search_file, 2 * l->room + 64);

		if (f->count > 0)
			memcpy(grown, f->files, f->count * sizeof(*grown));
		f->files = grown;
		l->room = 2 * l->room + 64;
	}
	f->files[f->count] = (struct search_file){.path = path};
	return &f->files[f->count++];
}

/* rg prints the lines of a file together, although several threads search. */
static void take_content(struct search_files *l, struct span rest)
{
	struct search_file *file = NULL;

	while (rest.size > 0) {
		const char *start = rest.data;
		struct span line, path;

		(void)span_split(&rest, '\n', &line);
		path = take_path(&line);
		if (path.size == 0)
			continue;
		if (!file || !span_equals(file->path, path)) {
			file = add_search_file(l, path);
			file->lines.data = start;
		}
		file->lines.size = (size_t)(line.data + line.size - file->lines.data);
	}
}

static void take_paths(struct search_files *l, struct span rest)
{
	struct span path;

	while (span_split(&rest, '\0', &path))
		(void)add_search_file(l, without_dot(path));
}

/* grep also prints files without a match. */
static void take_counts(struct search_files *l, struct span rest)
{
	struct span line, path;
	int64_t count;

	while (rest.size > 0) {
		(void)span_split(&rest, '\n', &line);
		path = take_path(&line);
		if (path.size > 0 && take_number(&line, &count) && count > 0)
			add_search_file(l, path)->count = count;
	}
}

static int compare_files(const void *left, const void *right)
{
	const struct search_file *a = left, *b = right;
	size_t size = a->path.size < b->path.size ? a->path.size : b->path.size;
	int order = memcmp(a->path.data, b->path.data, size);

	if (order != 0)
		return order;
	if (a->path.size != b->path.size)
		return a->path.size < b->path.size ? -1 : 1;
	return a->lines.data < b->lines.data ? -1 : a->lines.data > b->lines.data;
}

int search_run(struct arena *a, const struct search_scope *place,
               const struct search_request *search, struct search_found *ret, struct error *err)
{
	static void (*const takes[])(struct search_files *, struct span) = {
	        [SEARCH_FILES] = take_paths,
	        [SEARCH_CONTENT] = take_content,
	        [SEARCH_COUNT] = take_counts,
	};
	AUTO(search_output_done) struct search_output output = {BUF(OUTPUT_MAX),
	                                                        BUF(COMPLAINT_MAX)};
	struct search_found found = {.count = 0};
	struct search_files listing = {a, &found};

	if (provider_require(place->provider, PROVIDER_CAN_FILES, err) < 0 ||
	    check_inside(a, place, search->path, err) < 0 ||
	    run_search(a, place, search, &output, &found.truncated, err) < 0)
		return -1;
	takes[search->mode](&listing,
	                    (struct span){arena_copy(a, buf_span(&output.out)), output.out.size});
	if (found.count > 1)
		qsort(found.files, found.count, sizeof(*found.files), compare_files);
	*ret = found;
	return 0;
}
