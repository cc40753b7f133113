/* SPDX-License-Identifier: Apache-2.0 */
/* The processes: found, started, told what to run, ended. */
#include <inttypes.h>
#include <signal.h>
#include <string.h>

#include "console/asked.h"

#define LABEL "console:"

/* What the shell does first. Its pipes are nobody else's, and go with it. */
#define PREAMBLE                                                                                   \
	"__console=$(mktemp -d \"${TMPDIR:-/tmp}/console.XXXXXXXX\") || exit 125\n"                \
	"trap 'rm -rf \"$__console\"' EXIT\n"

int console_name_check(const char *name, struct error *err)
{
	size_t size = strlen(name);

	for (size_t i = 0; i < size; i++)
		if (name[i] <= ' ' || name[i] > '~' || name[i] == '/')
			size = 0;
	if (size > 0 && size <= CONSOLE_NAME_MAX)
		return 0;
	return FAIL(err, ERROR_INVALID,
	            "a session's name has 1 to %d printable characters of ASCII, and no '/'",
	            CONSOLE_NAME_MAX);
}

/* ---- list and find ---- */

struct gathered {
	struct arena *arena;
	const char *wanted; /* NULL = all */
	struct console items[CONSOLES_MAX];
	size_t count;
};

static void on_process(void *context, const struct agent_process *p)
{
	struct gathered *g = context;
	const char *name = p->label + strlen(LABEL);
	struct error bad;

	if (strncmp(p->label, LABEL, strlen(LABEL)) != 0 || console_name_check(name, &bad) < 0 ||
	    (g->wanted && strcmp(g->wanted, name) != 0) || g->count >= COUNT_OF(g->items))
		return;
	g->items[g->count++] = (struct console){
	        .name = arena_text(g->arena, name),
	        .process = p->process,
	        .has_ended = p->state == AGENT_PROCESS_ENDED,
	        .exit_code = p->exit_code,
	        .output_end = {p->output_end[0], p->output_end[1]},
	};
}

static int gather(const struct console_at *at, struct gathered *g, struct error *err)
{
	return compute_processes(at->hold->provider, at->hold->id, on_process, g, at->deadline,
	                         err);
}

int console_list(const struct console_at *at, struct arena *a, struct consoles *ret,
                 struct error *err)
{
	struct gathered *g = ARENA_NEW(a, struct gathered);

	g->arena = a;
	if (gather(at, g, err) < 0)
		return -1;
	*ret = (struct consoles){g->items, g->count};
	return 0;
}

int console_find(const struct console_at *at, struct arena *a, struct console *ret,
                 struct error *err)
{
	struct gathered *g = ARENA_NEW(a, struct gathered);

	g->arena = a;
	g->wanted = at->name;
	if (console_name_check(at->name, err) < 0 || gather(at, g, err) < 0)
		return -1;
	if (g->count == 0)
		return FAIL(err, ERROR_NOT_FOUND, "the sandbox has no session '%s'", at->name);
	*ret = g->items[g->count - 1];
	return 0;
}

/* ---- open, close ---- */

static int feed(const struct console_at *at, uint64_t process, struct span bytes, struct error *err)
{
	const struct agent_feed feed = {.process = process, .bytes = bytes};

	return compute_feed(at->hold->provider, at->hold->id, &feed, at->deadline, err);
}

static int start(const struct console_at *at, struct arena *a, const struct console_open *open,
                 const char *shell, uint64_t *ret, struct error *err)
{
	struct agent_process started;
	const struct agent_exec exec = {
	        .args = (const char *[]){shell, NULL},
	        .env = open->env,
	        .cwd = open->cwd,
	        .user = open->user,
	        .label = arena_format(a, LABEL "%s", at->name),
	        .flags = AGENT_EXEC_STDIN | AGENT_EXEC_DETACH | AGENT_EXEC_RESIDENT |
	                 AGENT_EXEC_SHELL,
	        .ring_bytes = CONSOLE_RING,
	};

	if (compute_start(at->hold->provider, at->hold->id,
	                  &(struct compute_start){&exec, a, at->deadline}, &started, err) < 0)
		return -1;
	*ret = started.process;
	return 0;
}

int console_open(const struct console_at *at, struct arena *a, const struct console_open *open,
                 struct error *err)
{
	struct gathered *g = ARENA_NEW(a, struct gathered);
	uint64_t process;

	g->arena = a;
	if (provider_require(at->hold->provider, PROVIDER_CAN_EXEC, err) < 0 ||
	    console_name_check(at->name, err) < 0 || gather(at, g, err) < 0)
		return -1;
	for (size_t i = 0; i < g->count; i++)
		if (strcmp(g->items[i].name, at->name) == 0)
			return FAIL(err, ERROR_CONFLICT, "there is a session '%s'", at->name);
	if (g->count >= CONSOLES_MAX)
		return FAIL(err, ERROR_LIMIT, "a sandbox has at most %d sessions", CONSOLES_MAX);
	if (start(at, a, open, "bash", &process, err) < 0) {
		if (err->code != ERROR_NOT_FOUND)
			return -1;
		error_clear(err);
		if (start(at, a, open, "sh", &process, err) < 0)
			return -1;
	}
	/* A sandbox that was stopped and started counts its processes anew. */
	asked_forget(at->asked, &(struct asked_shell){at->hold->id, process});
	return feed(at, process, SPAN(PREAMBLE), err);
}

static int signal_process(const struct console_at *at, struct arena *a, uint16_t type,
                          uint64_t process, struct error *err)
{
	const struct agent_signal message = {
	        .process = process, .signal = SIGKILL, .whole_tree = 1};
	const struct compute_call call = {
	        .type = type, .shape = agent_signal_shape, .message = &message};

	return compute_call(at->hold->provider, at->hold->id, a, &call, at->deadline, err);
}

static int await_end(const struct console_at *at, const struct console *c, struct error *err)
{
	const struct compute_wait wait = {
	        .process = c->process,
	        .since = {c->output_end[0], c->output_end[1]},
	        .deadline = at->deadline,
	};

	return compute_await_end(at->hold->provider, at->hold->id, &wait, err);
}

int console_close(const struct console_at *at, struct arena *a, struct error *err)
{
	struct console c;

	if (console_find(at, a, &c, err) < 0)
		return -1;
	if (!c.has_ended &&
	    (signal_process(at, a, AGENT_SIGNAL, c.process, err) < 0 || await_end(at, &c, err) < 0))
		return -1;
	asked_forget(at->asked, &(struct asked_shell){at->hold->id, c.process});
	return signal_process(at, a, AGENT_FORGET, c.process, err);
}

/* ---- commands ---- */

#define TELL_FOLDER "printf '\\036atoll:D::%%s\\n' \"$__console\""

/* 'it'\''s' */
static void add_quoted(struct buf *out, const char *text)
{
	buf_add_byte(out, '\'');
	for (; *text; text++) {
		if (*text == '\'')
			buf_add_text(out, "'\\'");
		buf_add_byte(out, *text);
	}
	buf_add_byte(out, '\'');
}

static void add_mark(struct buf *out, const char *kind_and_id, const char *text)
{
	buf_addf(out, "printf '\\036atoll:%s:%s\\n'%s\n", kind_and_id, text,
	         text[0] == '%' ? " \"$__code\"" : "");
	out->size--;
	buf_addf(out, "; printf '\\036atoll:%s:%s\\n'%s >&2\n", kind_and_id, text,
	         text[0] == '%' ? " \"$__code\"" : "");
}

static struct span told_of(const char *command)
{
	struct span text = span_of(command);

	if (text.size > CONSOLE_TOLD_MAX) {
		text.size = CONSOLE_TOLD_MAX;
		text.size -= span_begun(text);
	}
	return text;
}

/* Who sees that the command has begun finds its pipe, in a folder that is told each time since
 * older output falls off; what kept the pipe from being made is said by the second try. The pipe
 * is opened for both, so that this waits for nobody and the command sees no end; and once more for
 * its removal, so that who was about to write to it does not wait for ever. The word "command"
 * keeps an eval that fails from ending the shell. */
static void write_script(struct buf *out, const struct id *id, const char *command)
{
	AUTO(buf_done) struct buf told = BUF(2 * CONSOLE_TOLD_MAX + 1), mark = BUF(64);
	struct span text = told_of(command);

	for (size_t i = 0; i < text.size; i++)
		buf_addf(&told, "%02x", (unsigned char)text.data[i]);
	buf_addf(out, TELL_FOLDER "; " TELL_FOLDER " >&2; mkfifo \"$__console/%s\" 2>/dev/null\n",
	         id->text);
	buf_addf(&mark, "B:%s", id->text);
	add_mark(out, buf_text(&mark), buf_text(&told));
	buf_addf(out, "{ [ -p \"$__console/%s\" ] || mkfifo \"$__console/%s\"; } && command eval ",
	         id->text, id->text);
	add_quoted(out, command);
	buf_addf(out,
	         " <>\"$__console/%s\"; __code=$?; rm -f \"$__console/%s\" <>\"$__console/%s\"\n",
	         id->text, id->text, id->text);
	mark.data[0] = 'E';
	add_mark(out, buf_text(&mark), "%s");
}

/* Who is told of a command is told so when its shell has it: the id is nobody's before. */
int console_run(const struct console_at *at, struct arena *a, const struct console *console,
                const char *command, struct id *ret, struct error *err)
{
	AUTO(buf_done) struct buf script = BUF(AGENT_DATA_MAX);
	const struct asked_shell shell = {at->hold->id, console->process};
	struct span told = told_of(command);
	struct id id = id_new();
	uint64_t since = asked_now(at->asked);

	if (strlen(command) > CONSOLE_COMMAND_MAX)
		return FAIL(err, ERROR_TOO_LARGE, "a command has at most %zu bytes",
		            CONSOLE_COMMAND_MAX);
	if (console->has_ended)
		return FAIL(err, ERROR_CONFLICT, "the shell of session '%s' has ended", at->name);
	write_script(&script, &id, command);
	if (script.overflowed)
		return FAIL(err, ERROR_TOO_LARGE, "the command has too many quotes");
	if (feed(at, console->process, buf_span(&script), err) < 0)
		return -1;
	asked_add(at->asked, &shell, since,
	          &(struct asked_command){.id = id, .text = arena_copy(a, told)});
	*ret = id;
	return 0;
}
