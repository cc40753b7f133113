/* SPDX-License-Identifier: Apache-2.0 */
/* The processes of shells: list, start, run a command, close. */
#include <signal.h>
#include <string.h>

#include "base/bytes.h"
#include "fleet/core/fleet_hold.h"
#include "provider/compute.h"
#include "provider/provider.h"
#include "shell/queue.h"
#include "wire/agent.h"

#define LABEL "console:"

/* The first lines that the shell runs: a private folder for its pipes, removed at its exit. */
#define PREAMBLE                                                                                   \
	"__console=$(mktemp -d \"${TMPDIR:-/tmp}/console.XXXXXXXX\") || exit 125\n"                \
	"trap 'rm -rf \"$__console\"' EXIT\n"

int shell_name_check(const char *name, struct error *err)
{
	size_t size = strlen(name);

	for (size_t i = 0; i < size; i++)
		if (name[i] <= ' ' || name[i] > '~' || name[i] == '/')
			size = 0;
	if (size > 0 && size <= SHELL_NAME_MAX)
		return 0;
	return FAIL(err, ERROR_INVALID,
	            "a session's name has 1 to %d printable characters of ASCII, and no '/'",
	            SHELL_NAME_MAX);
}

struct shell_search {
	struct arena *arena;
	const char *wanted; /* NULL = all */
	struct shell items[SHELLS_MAX];
	size_t count;
};

static void on_process(void *context, const struct agent_process *p)
{
	struct shell_search *g = context;
	const char *name = p->label + strlen(LABEL);

	if (strncmp(p->label, LABEL, strlen(LABEL)) != 0 ||
	    shell_name_check(name, &(struct error){0}) < 0 ||
	    (g->wanted && strcmp(g->wanted, name) != 0) || g->count >= COUNT_OF(g->items))
		return;
	g->items[g->count++] = (struct shell){
	        .name = arena_text(g->arena, name),
	        .process = p->process,
	        .has_ended = p->state == AGENT_PROCESS_ENDED,
	        .exit_code = p->exit_code,
	        .output_end = {p->output_end[0], p->output_end[1]},
	};
}

static int list_processes(const struct shell_call *call, struct shell_search *g, struct error *err)
{
	return compute_processes(call->hold->provider, call->hold->id, on_process, g,
	                         call->deadline, err);
}

int shell_list(const struct shell_call *call, struct arena *a, struct shell_array *ret,
               struct error *err)
{
	struct shell_search *g = ARENA_NEW(a, struct shell_search);

	g->arena = a;
	if (list_processes(call, g, err) < 0)
		return -1;
	*ret = (struct shell_array){g->items, g->count};
	return 0;
}

int shell_find(const struct shell_call *call, struct arena *a, struct shell *ret, struct error *err)
{
	struct shell_search *g = ARENA_NEW(a, struct shell_search);

	g->arena = a;
	g->wanted = call->name;
	if (shell_name_check(call->name, err) < 0 || list_processes(call, g, err) < 0)
		return -1;
	if (g->count == 0)
		return FAIL(err, ERROR_NOT_FOUND, "the sandbox has no session '%s'", call->name);
	*ret = g->items[g->count - 1];
	return 0;
}

static int feed_shell(const struct shell_call *call, uint64_t process, struct span bytes,
                      struct error *err)
{
	const struct agent_feed feed_shell = {.process = process, .bytes = bytes};

	return compute_feed(call->hold->provider, call->hold->id, &feed_shell, call->deadline, err);
}

static int start_shell(const struct shell_call *call, struct arena *a,
                       const struct shell_options *open, const char *shell, uint64_t *ret,
                       struct error *err)
{
	struct agent_process started;
	const struct agent_exec exec = {
	        .args = (const char *[]){shell, NULL},
	        .env = open->env,
	        .cwd = open->cwd,
	        .user = open->user,
	        .label = arena_format(a, LABEL "%s", call->name),
	        .flags = AGENT_EXEC_STDIN | AGENT_EXEC_DETACH | AGENT_EXEC_RESIDENT |
	                 AGENT_EXEC_SHELL,
	        .ring_bytes = SHELL_RING,
	};

	if (compute_start(call->hold->provider, call->hold->id,
	                  &(struct compute_start){&exec, a, call->deadline}, &started, err) < 0)
		return -1;
	*ret = started.process;
	return 0;
}

int shell_open(const struct shell_call *call, struct arena *a, const struct shell_options *open,
               struct error *err)
{
	struct shell_search *g = ARENA_NEW(a, struct shell_search);
	uint64_t process;

	g->arena = a;
	if (provider_require(call->hold->provider, PROVIDER_CAN_EXEC, err) < 0 ||
	    shell_name_check(call->name, err) < 0 || list_processes(call, g, err) < 0)
		return -1;
	for (size_t i = 0; i < g->count; i++)
		if (strcmp(g->items[i].name, call->name) == 0)
			return FAIL(err, ERROR_CONFLICT, "there is a session '%s'", call->name);
	if (g->count >= SHELLS_MAX)
		return FAIL(err, ERROR_LIMIT, "a sandbox has at most %d sessions", SHELLS_MAX);
	if (start_shell(call, a, open, "bash", &process, err) < 0) {
		if (err->code != ERROR_NOT_FOUND)
			return -1;
		error_clear(err);
		if (start_shell(call, a, open, "sh", &process, err) < 0)
			return -1;
	}
	/* Process numbers restart when a sandbox is stopped and started. */
	shell_queue_clear(call->queue, &(struct shell_ref){call->hold->id, process});
	return feed_shell(call, process, SPAN(PREAMBLE), err);
}

static int signal_shell(const struct shell_call *call, uint16_t type, uint64_t process,
                        struct error *err)
{
	const struct agent_signal message = {
	        .process = process, .signal = SIGKILL, .whole_tree = 1};

	return compute_signal(call->hold->provider, call->hold->id, type, &message, call->deadline,
	                      err);
}

static int await_shell_end(const struct shell_call *call, const struct shell *c, struct error *err)
{
	const struct compute_wait wait = {
	        .process = c->process,
	        .since = {c->output_end[0], c->output_end[1]},
	        .deadline = call->deadline,
	};

	return compute_await_end(call->hold->provider, call->hold->id, &wait, err);
}

int shell_close(const struct shell_call *call, struct arena *a, struct error *err)
{
	struct shell c;

	if (shell_find(call, a, &c, err) < 0)
		return -1;
	if (!c.has_ended && (signal_shell(call, AGENT_SIGNAL, c.process, err) < 0 ||
	                     await_shell_end(call, &c, err) < 0))
		return -1;
	shell_queue_clear(call->queue, &(struct shell_ref){call->hold->id, c.process});
	return signal_shell(call, AGENT_FORGET, c.process, err);
}

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

static struct span shortened_command(const char *command)
{
	struct span text = span_of(command);

	if (text.size > SHELL_TEXT_MAX) {
		text.size = SHELL_TEXT_MAX;
		text.size -= span_begun(text);
	}
	return text;
}

/* The pipe exists before the begin mark. The folder mark is repeated for each command, because
 * older output is dropped. The second mkfifo prints the error of the first. The pipe is opened for
 * reading and writing, so that the open does not block and the command sees no end of file; it is
 * opened again for its removal, so that a writer that is just opening it does not block for ever.
 * The word "command" keeps a failing eval from ending the shell. */
static void write_script(struct buf *out, const struct id *id, const char *command)
{
	AUTO(buf_done) struct buf told = BUF(2 * SHELL_TEXT_MAX + 1), mark = BUF(64);
	struct span text = shortened_command(command);

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

/* Adds the command to the queue after the shell has received it: no caller knows the id before. */
int shell_run_command(const struct shell_call *call, struct arena *a, const struct shell *shell,
                      const char *command, struct id *ret, struct error *err)
{
	AUTO(buf_done) struct buf script = BUF(AGENT_DATA_MAX);
	const struct shell_ref ref = {call->hold->id, shell->process};
	struct span told = shortened_command(command);
	struct id id = id_new();
	uint64_t since = shell_queue_advance(call->queue);

	if (strlen(command) > SHELL_COMMAND_MAX)
		return FAIL(err, ERROR_TOO_LARGE, "a command has at most %zu bytes",
		            SHELL_COMMAND_MAX);
	if (shell->has_ended)
		return FAIL(err, ERROR_CONFLICT, "the shell of session '%s' has ended", call->name);
	write_script(&script, &id, command);
	if (script.overflowed)
		return FAIL(err, ERROR_TOO_LARGE, "the command has too many quotes");
	if (feed_shell(call, shell->process, buf_span(&script), err) < 0)
		return -1;
	shell_queue_add(call->queue, &ref, since,
	                &(struct shell_queued_command){.id = id, .text = arena_copy(a, told)});
	*ret = id;
	return 0;
}
