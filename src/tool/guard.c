/* SPDX-License-Identifier: Apache-2.0 */
#include "tool/guard.h"

#include <stdbool.h>
#include <string.h>

#include "base/bytes.h"

#define DEPTH_MAX 4   /* nested lines, as in sh -c */
#define WORD_MAX 4096 /* bytes of a word that are checked */
#define DELIMITER_MAX 64

struct scan {
	const struct command_guard *guard;
	struct span rest;
	unsigned depth;
	bool at_command;    /* the next word is a program's name */
	bool runs_argument; /* the previous word was "-c" or "eval": the next word is a line */
	bool of_shell;      /* the command is a shell */
	char delimiter[DELIMITER_MAX + 1]; /* of a here-document that begins after this line */
	struct error *err;
};
struct word {
	struct buf text;
	bool is_quoted, is_any;
};

static int scan_line(const struct scan *from, struct span line, struct error *err);

static bool is_separator(char c)
{
	return strchr(" \t\n;&|()<>`", c) != NULL;
}

/* Ends a simple command. */
static bool ends_command(char c)
{
	return strchr("\n;&|()`", c) != NULL;
}

/* Checks the line in "$(…)" or `…`; *rest begins with the opening characters. */
static int scan_substitution(struct scan *s, struct span *rest)
{
	bool is_tick = rest->data[0] == '`';
	struct span inner;
	unsigned open = 1;
	size_t size = 0;

	span_skip(rest, is_tick ? 1 : 2);
	inner = *rest;
	while (size < inner.size && open > 0) {
		char c = inner.data[size];

		if (is_tick)
			open -= c == '`';
		else
			open = open + (c == '(') - (c == ')');
		size++;
	}
	inner.size = open == 0 ? size - 1 : size;
	span_skip(rest, size);
	return scan_line(s, inner, s->err);
}

static bool opens_substitution(struct span rest)
{
	return rest.data[0] == '`' || (rest.size > 1 && rest.data[0] == '$' && rest.data[1] == '(');
}

static int take_double_quoted(struct scan *s, struct word *w)
{
	span_skip(&s->rest, 1);
	while (s->rest.size > 0 && s->rest.data[0] != '"') {
		if (opens_substitution(s->rest)) {
			if (scan_substitution(s, &s->rest) < 0)
				return -1;
			continue;
		}
		if (s->rest.data[0] == '\\' && s->rest.size > 1)
			span_skip(&s->rest, 1);
		buf_add_byte(&w->text, s->rest.data[0]);
		span_skip(&s->rest, 1);
	}
	if (s->rest.size > 0)
		span_skip(&s->rest, 1);
	return 0;
}

static void take_single_quoted(struct scan *s, struct word *w)
{
	ptrdiff_t end;

	span_skip(&s->rest, 1);
	end = span_find(s->rest, '\'');
	if (end < 0)
		end = (ptrdiff_t)s->rest.size;
	buf_add_span(&w->text, span_take(&s->rest, (size_t)end));
	if (s->rest.size > 0)
		span_skip(&s->rest, 1);
}

static int take_word(struct scan *s, struct word *w)
{
	while (s->rest.size > 0 && !is_separator(s->rest.data[0])) {
		char c = s->rest.data[0];

		w->is_any = true;
		if (c == '\'' || c == '"') {
			w->is_quoted = true;
			if (c == '\'')
				take_single_quoted(s, w);
			else if (take_double_quoted(s, w) < 0)
				return -1;
			continue;
		}
		if (opens_substitution(s->rest)) {
			if (scan_substitution(s, &s->rest) < 0)
				return -1;
			continue;
		}
		if (c == '\\' && s->rest.size > 1)
			span_skip(&s->rest, 1);
		buf_add_byte(&w->text, s->rest.data[0]);
		span_skip(&s->rest, 1);
	}
	return 0;
}

static bool has_parent(const char *text)
{
	for (const char *at = strstr(text, ".."); at; at = strstr(at + 1, "..")) {
		bool begins = at == text || strchr("/=:", at[-1]);

		if (begins && (at[2] == '\0' || at[2] == '/'))
			return true;
	}
	return false;
}

static bool is_address(const char *word)
{
	return strstr(word, "://") && !strstr(word, "file://");
}

/* Whether the path is in a folder that every machine has. Only such paths are refused in quotes,
 * where a pattern may begin with a slash. */
static bool is_of_the_machine(const char *path)
{
	static const char *const folders[] = {
	        "etc", "usr",   "var", "home", "root", "proc",  "sys", "dev",  "bin", "sbin",
	        "lib", "lib64", "opt", "mnt",  "srv",  "media", "run", "boot", "tmp"};
	size_t size = strcspn(path + 1, "/");

	if (path[1] == '\0' || strcmp(path, "/*") == 0)
		return true;
	for (size_t i = 0; i < COUNT_OF(folders); i++)
		if (strlen(folders[i]) == size && strncmp(path + 1, folders[i], size) == 0 &&
		    !strpbrk(path, " \t\n"))
			return true;
	return false;
}

static bool is_harmless(const char *path, const char *root)
{
	static const char *const devices[] = {"/dev/null",   "/dev/stdin", "/dev/stdout",
	                                      "/dev/stderr", "/dev/zero",  "/dev/urandom"};
	size_t size = strlen(root);

	for (size_t i = 0; i < COUNT_OF(devices); i++)
		if (strcmp(path, devices[i]) == 0)
			return true;
	return size > 1 && strncmp(path, root, size) == 0 &&
	       (path[size] == '\0' || path[size] == '/');
}

/* The value of "--name=/path", "NAME=/path" and "-I/path", else the word. */
static const char *path_part(const char *word)
{
	const char *value = strchr(word, '=');

	if (value && value[1] == '/' && strcspn(word, "/") > (size_t)(value - word))
		return value + 1;
	return word[0] == '-' && word[1] && word[2] == '/' ? word + 2 : word;
}

static int refuse_path(const char *word, const char *why, struct error *err)
{
	(void)FAIL(err, ERROR_FORBIDDEN, "'%.100s' %s", word, why);
	return FAIL_HINT(err,
	                 "use paths relative to the workspace, such as src/main.c (this check of a "
	                 "command is best effort)");
}

static int check_path(const struct scan *s, const struct word *w)
{
	const char *root = s->guard->root, *word = buf_text(&w->text), *path = path_part(word);

	if (!root || is_address(word))
		return 0;
	if (has_parent(word) || strstr(word, "file:///"))
		return refuse_path(word, "leads out of the workspace", s->err);
	if (!w->is_quoted && path[0] == '~' && (path[1] == '\0' || path[1] == '/'))
		return refuse_path(word, "leads out of the workspace", s->err);
	if (strncmp(path, "$HOME", 5) == 0 || strncmp(path, "${HOME}", 7) == 0)
		return refuse_path(word, "leads out of the workspace", s->err);
	if (path[0] != '/' || is_harmless(path, root))
		return 0;
	if (w->is_quoted && !is_of_the_machine(path))
		return 0;
	return refuse_path(word,
	                   strcmp(path, "/") == 0 ? "is the whole filesystem"
	                                          : "is an absolute path outside the workspace",
	                   s->err);
}

static const struct {
	const char *program, *runtime;
} programs[] = {
        {"python", "python"},
        {"pip", "python"},
        {"uv", "python"},
        {"uvx", "python"},
        {"ipython", "python"},
        {"pytest", "python"},
        {"node", "node"},
        {"npm", "node"},
        {"npx", "node"},
        {"yarn", "node"},
        {"pnpm", "node"},
        {"tsx", "node"},
        {"bash", "bash"},
        {"sh", "bash"},
        {"dash", "bash"},
        {"zsh", "bash"},
        {"R", "r"},
        {"Rscript", "r"},
        {"java", "java"},
        {"jshell", "java"},
};

/* "python3.11" is python. */
static const char *runtime_of(const char *word)
{
	const char *slash = strrchr(word, '/'), *name = slash ? slash + 1 : word;
	size_t size = strlen(name);

	while (size > 0 &&
	       ((name[size - 1] >= '0' && name[size - 1] <= '9') || name[size - 1] == '.'))
		size--;
	for (size_t i = 0; i < COUNT_OF(programs); i++)
		if (strlen(programs[i].program) == size &&
		    strncmp(name, programs[i].program, size) == 0)
			return programs[i].runtime;
	return NULL;
}

static int check_runtime(const struct scan *s, const char *runtime)
{
	AUTO(buf_done) struct buf allowed = BUF(256);

	for (const char *const *at = s->guard->runtimes; at && *at; at++) {
		if (strcmp(*at, runtime) == 0)
			return 0;
		buf_addf(&allowed, "%s%s", allowed.size > 0 ? ", " : "", *at);
	}
	if (!s->guard->runtimes)
		return 0;
	(void)FAIL(s->err, ERROR_FORBIDDEN, "%s is not a runtime that this sandbox's config allows",
	           runtime);
	return FAIL_HINT(s->err, "allowed: %s (the list is advisory: best effort)",
	                 buf_text(&allowed));
}

/* Words before the name of a program. */
static bool is_prefix(const char *word)
{
	static const char *const prefixes[] = {"env",     "sudo",  "time",  "nohup", "exec",
	                                       "command", "xargs", "nice",  "then",  "do",
	                                       "else",    "if",    "while", "!",     "{"};

	for (size_t i = 0; i < COUNT_OF(prefixes); i++)
		if (strcmp(word, prefixes[i]) == 0)
			return true;
	return false;
}

static bool is_assignment(const char *word)
{
	size_t size =
	        strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");

	return size > 0 && word[size] == '=';
}

static int check_command(struct scan *s, const char *word)
{
	const char *runtime = runtime_of(word);

	if (is_prefix(word) || is_assignment(word) || word[0] == '-')
		return 0;
	s->at_command = false;
	s->of_shell = runtime && strcmp(runtime, "bash") == 0;
	s->runs_argument = strcmp(word, "eval") == 0;
	return runtime ? check_runtime(s, runtime) : 0;
}

static int check_word(struct scan *s, const struct word *w)
{
	const char *word = buf_text(&w->text);

	if (s->runs_argument && !s->at_command) {
		s->runs_argument = false;
		return scan_line(s, buf_span(&w->text), s->err);
	}
	if (check_path(s, w) < 0)
		return -1;
	if (s->at_command)
		return check_command(s, word);
	s->runs_argument = s->of_shell && strcmp(word, "-c") == 0;
	return 0;
}

/* The text of a here-document is data and is not checked. */
static void skip_document(struct scan *s)
{
	struct span line;

	while (s->rest.size > 0) {
		(void)span_split(&s->rest, '\n', &line);
		while (line.size > 0 && line.data[0] == '\t')
			span_skip(&line, 1);
		if (span_equals_text(line, s->delimiter))
			break;
	}
	s->delimiter[0] = '\0';
}

/* "<<EOF" and "<<-'EOF'" begin a here-document; "<<<" is followed by a text. */
static int take_redirection(struct scan *s)
{
	struct word w = {.text = BUF(DELIMITER_MAX)};
	int result;

	if (s->rest.size < 2 || s->rest.data[1] != '<' ||
	    (s->rest.size > 2 && s->rest.data[2] == '<')) {
		size_t size = 0;

		while (size < s->rest.size && s->rest.data[size] == '<')
			size++;
		span_skip(&s->rest, size);
		return 0;
	}
	span_skip(&s->rest, 2);
	while (s->rest.size > 0 && strchr("- \t", s->rest.data[0]))
		span_skip(&s->rest, 1);
	result = take_word(s, &w);
	memcpy(s->delimiter, buf_text(&w.text), w.text.size + 1);
	buf_done(&w.text);
	return result;
}

static int take_separator(struct scan *s)
{
	char c = s->rest.data[0];

	if (opens_substitution(s->rest))
		return scan_substitution(s, &s->rest);
	if (c == '<')
		return take_redirection(s);
	if (ends_command(c)) {
		s->at_command = true;
		s->runs_argument = s->of_shell = false;
	}
	span_skip(&s->rest, 1);
	if (c == '\n' && s->delimiter[0])
		skip_document(s);
	return 0;
}

static int take_next(struct scan *s)
{
	struct word w = {.text = BUF(WORD_MAX)};
	int result;

	if (is_separator(s->rest.data[0]))
		return take_separator(s);
	if (s->rest.data[0] == '#') {
		ptrdiff_t end = span_find(s->rest, '\n');

		span_skip(&s->rest, end < 0 ? s->rest.size : (size_t)end);
		return 0;
	}
	result = take_word(s, &w);
	if (result == 0 && w.is_any)
		result = check_word(s, &w);
	buf_done(&w.text);
	return result;
}

static int scan_line(const struct scan *from, struct span line, struct error *err)
{
	struct scan s = {.guard = from->guard,
	                 .rest = line,
	                 .depth = from->depth + 1,
	                 .at_command = true,
	                 .err = err};

	if (s.depth > DEPTH_MAX)
		return 0;
	while (s.rest.size > 0)
		if (take_next(&s) < 0)
			return -1;
	return 0;
}

int command_guard_check(const struct command_guard *guard, const char *line, struct error *err)
{
	const struct scan outer = {.guard = guard};

	return scan_line(&outer, span_of(line), err);
}
