/* SPDX-License-Identifier: Apache-2.0 */
/* SEARCH: lines of files that match a pattern, printed as grep -rHZIE does, for sandboxes without
 * rg and grep. Only the first FILE_MAX bytes of a file are searched; a file with a NUL among them
 * is skipped. Too many results or too long a search end it, and DONE reports that. */
#include <errno.h>
#include <fcntl.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/files.h"
#include "agent/glob.h"
#include "agent/walk.h"
#include "base/clock.h"
#include "base/fd.h"

#define FILE_MAX ((size_t)8 << 20)
#define LINE_SIZE_MAX ((size_t)16 * 1024) /* of a line, searched and reported */
#define OUTPUT_MAX ((uint64_t)4 << 20)
#define CONTEXT_MAX 1000
#define RUN_MS 60000
#define ALARM_S 70                             /* for one match that does not end */
#define MEMORY_MAX ((rlim_t)128 * 1024 * 1024) /* limits the memory that a pattern can take */

struct search {
	struct files *files;
	regex_t regex;
	bool has_regex;
	struct globs globs; /* of names, or of paths */
	const char *top;    /* offset at which paths begin */
	enum agent_search_mode mode;
	uint64_t before, after;
	int64_t deadline;
	uint64_t told;   /* bytes */
	bool is_cut;     /* enough results */
	bool has_long;   /* some file was searched in part */
	struct buf text; /* of one file */
};

static void search_done(struct search *s)
{
	if (s->has_regex)
		regfree(&s->regex);
	buf_done(&s->text);
}

static void add_output(struct search *s, struct span bytes)
{
	s->told += bytes.size;
	s->is_cut |= s->told > OUTPUT_MAX;
	if (!s->is_cut)
		files_add_data(s->files, bytes);
}

static void tell_path(struct search *s, const char *path)
{
	bool is_top = strcmp(s->top, ".") == 0;

	if (!is_top)
		add_output(s, span_of(s->top));
	if (!is_top && *path)
		add_output(s, SPAN("/"));
	add_output(s, (struct span){path, strlen(path) + 1}); /* and its NUL */
}

static void tell_number(struct search *s, uint64_t number, const char *behind)
{
	AUTO(buf_done) struct buf text = BUF(32);

	buf_addf(&text, "%lu%s", (unsigned long)number, behind);
	add_output(s, buf_span(&text));
}

static void tell_line(struct search *s, const char *path, uint64_t number, struct span line,
                      bool is_match)
{
	if (line.size > LINE_SIZE_MAX)
		line.size = LINE_SIZE_MAX;
	tell_path(s, path);
	tell_number(s, number, is_match ? ":" : "-");
	add_output(s, line);
	add_output(s, SPAN("\n"));
}

/* A NUL ends the line during the match, because the rest of the file follows it. */
static bool line_matches(struct search *s, size_t at, size_t size)
{
	char *line = s->text.data + at, *end = line + (size < LINE_SIZE_MAX ? size : LINE_SIZE_MAX);
	char behind = *end;
	bool found;

	*end = '\0';
	found = regexec(&s->regex, line, 0, NULL, 0) == 0;
	*end = behind;
	return found;
}

static bool is_late(struct search *s)
{
	s->is_cut |= deadline_poll_ms(s->deadline) == 0;
	return s->is_cut;
}

/* Reports the unreported lines before line `number`, which begins at `at`. */
static void tell_before(struct search *s, const char *path, uint64_t number, size_t at,
                        uint64_t told_up_to)
{
	const char *text = s->text.data;
	uint64_t first = number;
	size_t start = at;

	while (first > told_up_to + 1 && number - first < s->before && start > 0) {
		for (start--; start > 0 && text[start - 1] != '\n';)
			start--;
		first--;
	}
	if (told_up_to && first > told_up_to + 1 && s->before + s->after)
		add_output(s, SPAN("--\n"));
	while (first < number) {
		size_t end = start + strcspn(text + start, "\n");

		tell_line(s, path, first++, (struct span){text + start, end - start}, false);
		start = end + 1;
	}
}

static void search_lines(struct search *s, const char *path)
{
	struct span all = buf_span(&s->text), rest = all, line;
	uint64_t number = 0, count = 0, told = 0, after = 0;

	while (rest.size > 0 && !s->is_cut) {
		size_t at = (size_t)(rest.data - all.data);

		(void)span_split(&rest, '\n', &line);
		if (++number % 1024 == 0 && is_late(s))
			break;
		if (line_matches(s, at, line.size)) {
			count++;
			if (s->mode == AGENT_SEARCH_FILES)
				break;
			if (s->mode == AGENT_SEARCH_COUNT)
				continue;
			tell_before(s, path, number, at, told);
			tell_line(s, path, told = number, line, true);
			after = s->after;
		} else if (after > 0) {
			after--;
			tell_line(s, path, told = number, line, false);
		}
	}
	if (count == 0 || s->mode == AGENT_SEARCH_CONTENT)
		return;
	tell_path(s, path);
	if (s->mode == AGENT_SEARCH_COUNT)
		tell_number(s, count, "\n");
}

/* Whether the file is a text that can be searched. */
static bool read_text(struct search *s, int fd)
{
	size_t room = FILE_MAX;
	ssize_t got = 1;

	buf_reset(&s->text);
	while (room > 0 && got > 0) {
		size_t piece = room < 65536 ? room : 65536;
		char *at = buf_reserve(&s->text, piece + 1);

		do
			got = at ? read(fd, at, piece) : 0;
		while (got < 0 && errno == EINTR);
		if (got <= 0)
			break;
		if (memchr(at, '\0', (size_t)got))
			return false;
		buf_commit(&s->text, (size_t)got);
		room -= (size_t)got;
	}
	s->has_long |= room == 0;
	if (s->text.size == 0 || got < 0)
		return false;
	(void)buf_text(&s->text); /* a NUL behind it */
	return true;
}

static void search_file(struct search *s, int fd, const char *path)
{
	struct stat status;

	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && read_text(s, fd))
		search_lines(s, path);
}

static bool is_wanted(const struct search *s, const char *name, const char *path)
{
	for (size_t i = 0; i < s->globs.count; i++) {
		const char *glob = s->globs.patterns[i];

		if (!*glob || glob_matches(glob, strchr(glob, '/') ? path : name))
			return true;
	}
	return false;
}

static int on_entry(struct walk *w, const struct walk_entry *entry, UNUSED struct error *err)
{
	struct search *s = w->context;
	AUTO_CLOSE int fd = -1;

	if (is_late(s))
		return WALK_STOP;
	if (!S_ISREG(entry->status.st_mode) || !is_wanted(s, entry->name, entry->path))
		return WALK_ON;
	fd = openat(entry->folder, entry->name,
	            O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd >= 0)
		search_file(s, fd, entry->path);
	return s->is_cut ? WALK_STOP : WALK_ON;
}

static int run_search(struct search *s, int fd, struct error *err)
{
	struct walk walk = {.on_entry = on_entry, .context = s, .passes_unreadable = true};
	struct stat status;

	if (fstat(fd, &status) < 0)
		return FAIL_ERRNO(err, "look at '%s'", s->top);
	if (!S_ISDIR(status.st_mode)) {
		search_file(s, fd, "");
		return 0;
	}
	return walk_run(&walk, fd, err) < 0 ? -1 : 0;
}

static int compile_pattern(struct search *s, const char *pattern, bool ignores_case,
                           struct error *err)
{
	char text[128];
	int result = regcomp(&s->regex, pattern, REG_EXTENDED | (ignores_case ? REG_ICASE : 0));

	s->has_regex = result == 0;
	if (result == 0)
		return 0;
	(void)regerror(result, &s->regex, text, sizeof(text));
	return FAIL(err, ERROR_INVALID, "pattern: %s", text);
}

/* `target` is a glob, a line feed, and the pattern. */
static int parse_search(struct search *s, const struct agent_path *m, struct error *err)
{
	struct arena *a = &s->files->arena;
	const char *end = strchr(m->target, '\n'), *glob;

	if (!end || m->mode >= AGENT_SEARCH_MODE_COUNT || m->depth > CONTEXT_MAX ||
	    m->offset > CONTEXT_MAX)
		return FAIL(err, ERROR_INVALID, "a search has another form");
	glob = arena_copy(a, (struct span){m->target, (size_t)(end - m->target)});
	if (globs_parse(a, glob, &s->globs, err) < 0)
		return -1;
	s->top = m->path;
	s->mode = (enum agent_search_mode)m->mode;
	s->before = m->depth;
	s->after = m->offset;
	return compile_pattern(s, end + 1, m->flags & AGENT_PATH_IGNORE_CASE, err);
}

/* Bytes of address space in use, which are many in a sanitized build. */
static rlim_t address_space(void)
{
	AUTO(buf_done) struct buf text = BUF(256);
	struct error ignored;

	if (file_read(AT_FDCWD, "/proc/self/statm", &text, &ignored) < 0)
		return 0;
	return (rlim_t)strtoull(buf_text(&text), NULL, 10) * (rlim_t)sysconf(_SC_PAGESIZE);
}

/* The worker serves a single user, which pays for its pattern; other calls of that user wait. */
static void limit_memory(struct rlimit *ret_before)
{
	struct rlimit limits;

	if (getrlimit(RLIMIT_AS, ret_before) == 0) {
		rlim_t most = address_space() + MEMORY_MAX;

		limits = *ret_before;
		if (limits.rlim_cur > most)
			limits.rlim_cur = most;
		(void)setrlimit(RLIMIT_AS, &limits);
	}
	(void)alarm(ALARM_S);
}

int files_search(struct files *f, const struct agent_path *m, struct error *err)
{
	AUTO(search_done)
	struct search s = {
	        .files = f, .deadline = deadline_after(RUN_MS), .text = BUF(FILE_MAX + 65537)};
	AUTO(base_dir_done) struct base_dir place = {0};
	AUTO_CLOSE int fd = -1;
	struct rlimit before;
	int result;

	if (base_dir_open(&place, &f->rules, m, err) < 0 ||
	    base_dir_find(&place, m->path, O_RDONLY | O_NONBLOCK | O_NOCTTY, &fd, err) < 0)
		return -1;
	limit_memory(&before);
	result = parse_search(&s, m, err);
	if (result == 0)
		result = run_search(&s, fd, err);
	(void)alarm(0);
	(void)setrlimit(RLIMIT_AS, &before);
	if (result < 0)
		return -1;
	files_flush(f);
	files_send_done(f, s.is_cut || s.has_long);
	return 1;
}
