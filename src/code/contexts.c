/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <string.h>

#include "base/fault.h"
#include "base/id.h"
#include "code/code.h"
#include "code/code_kernels.h"
#include "code/locks.h"
#include "provider/compute.h"
#include "provider/compute_run.h"
#include "provider/provider.h"
#include "wire/agent_jobs.h"
#include "fleet/core/fleet_hold.h"
#include "fleet/core/sandboxes.h"
#include "store/sandbox_record.h"

#define LABEL "code:"
#define RING_BYTES (256 * 1024)
#define PROBE_OUTPUT_MAX 4096
#define GIVEN_ID_SIZE 17 /* with its NUL */

static bool is_id(struct span text)
{
	bool fits = text.size >= 1 && text.size <= CODE_ID_MAX && text.data[0] != '-';

	for (size_t i = 0; fits && i < text.size; i++)
		fits = (text.data[i] >= 'a' && text.data[i] <= 'z') ||
		       (text.data[i] >= '0' && text.data[i] <= '9') || text.data[i] == '-';
	return fits;
}

/* "code:python:ID" */
static bool parse_label(const char *label, enum code_language *ret_language, struct span *ret_id)
{
	struct span rest, word;

	if (strncmp(label, LABEL, strlen(LABEL)) != 0)
		return false;
	rest = span_of(label + strlen(LABEL));
	if (!span_split(&rest, ':', &word) || !is_id(rest))
		return false;
	for (unsigned i = 0; code_languages[i]; i++) {
		if (span_equals_text(word, code_languages[i])) {
			*ret_language = (enum code_language)i;
			*ret_id = rest;
			return true;
		}
	}
	return false;
}

struct code_context_search {
	struct arena *arena;
	struct code_context items[CODE_CONTEXTS_MAX];
	size_t count;
};

static struct code_context *find_by_id(struct code_context_search *g, struct span id)
{
	for (size_t i = 0; i < g->count; i++)
		if (span_equals_text(id, g->items[i].id))
			return &g->items[i];
	return NULL;
}

/* The agent may still list a kernel that a newer kernel has replaced. */
static void on_process(void *context, const struct agent_process *p)
{
	struct code_context_search *g = context;
	enum code_language language;
	struct code_context *item;
	struct span id;

	if (!(p->flags & AGENT_EXEC_RESIDENT) || !parse_label(p->label, &language, &id))
		return;
	item = find_by_id(g, id);
	if (item && (!item->has_ended || p->process < item->process))
		return;
	if (!item && g->count == COUNT_OF(g->items))
		return;
	if (!item)
		item = &g->items[g->count++];
	*item = (struct code_context){
	        .id = arena_copy(g->arena, id),
	        .cwd = arena_text(g->arena, p->cwd),
	        .user = arena_text(g->arena, p->user),
	        .language = language,
	        .process = p->process,
	        .has_ended = p->state != AGENT_PROCESS_RUNNING,
	        .exit_code = p->exit_code,
	        .signal = p->signal,
	        .started_at = (int64_t)p->started_unix_ms,
	        .output_end = {p->output_end[0], p->output_end[1]},
	};
}

static int list_contexts(const struct code_at *at, struct code_context_search *g, struct error *err)
{
	return compute_processes(at->hold->provider, at->hold->id, on_process, g, at->deadline,
	                         err);
}

int code_list(const struct code_at *at, struct arena *a, struct code_list *ret, struct error *err)
{
	struct code_context_search *g = ARENA_NEW(a, struct code_context_search);

	g->arena = a;
	if (provider_require(at->hold->provider, PROVIDER_CAN_EXEC, err) < 0 ||
	    list_contexts(at, g, err) < 0)
		return -1;
	*ret = (struct code_list){g->items, g->count};
	return 0;
}

static struct code_context *pick_context(const struct code_list *list, const char *id)
{
	for (size_t i = 0; i < list->count; i++)
		if (strcmp(list->items[i].id, id) == 0)
			return &list->items[i];
	return NULL;
}

int code_find(const struct code_at *at, struct arena *a, const char *id, struct code_context *ret,
              struct error *err)
{
	const struct code_context *found;
	struct code_list list;

	if (code_list(at, a, &list, err) < 0)
		return -1;
	found = pick_context(&list, id);
	if (!found) {
		(void)FAIL(err, ERROR_NOT_FOUND, "the sandbox has no context '%.40s'", id);
		return FAIL_HINT(err,
		                 "a context ends with what runs in its sandbox: make another one");
	}
	*ret = *found;
	return 0;
}

/* The program, and how it is given its kernel. */
static const struct kernel {
	const char *args[3];
	const char *text;
	const char *probe[4]; /* its status 0 says that the kernel can run; none: the program can */
	const char *needs, *cure;
} kernels[] = {
        [CODE_PYTHON] = {{"python3", "-c"}, kernel_python, .needs = "python3"},
        [CODE_JAVASCRIPT] = {{"node", "-e"}, kernel_node, .needs = "node"},
        [CODE_BASH] = {{"bash", "-c"}, kernel_bash, .needs = "bash"},
        [CODE_TYPESCRIPT] = {{"node", "-e"},
                             kernel_typescript,
                             {"node", "-e", probe_typescript},
                             "node with a transpiler of TypeScript",
                             "use base, node or another template with Node.js 22.13 or later, or "
                             "install the npm package typescript, esbuild or sucrase"},
        [CODE_R] = {{"sh", "-c"},
                    kernel_r,
                    {"sh", "-c", "R --no-echo --vanilla -e 'invisible(utils::head(1))'"},
                    "working R",
                    "make a template with Debian's package r-base-core"},
        [CODE_JAVA] = {{"sh", "-c"},
                       kernel_java,
                       {"sh", "-c", "command -v jshell && java -version"},
                       "working java with jshell",
                       "make a template with Debian's package default-jdk-headless"},
};

static bool is_missing_program(const struct error *err)
{
	return err->code == ERROR_NOT_FOUND && strncmp(err->text, "command not found", 17) == 0;
}

static int fail_without_program(const struct code_at *at, struct arena *a,
                                enum code_language language, struct error *err)
{
	const struct kernel *k = &kernels[language];
	const struct fleet_ref ref = {.id_or_name = at->hold->id};
	struct sandbox_record record = {.template_name = NULL};

	error_clear(err);
	if (fleet_find(at->hold->fleet, a, &ref, &record, err) < 0)
		return -1;
	(void)FAIL(err, ERROR_UNSUPPORTED,
	           "the sandbox has no %s: there are no contexts of %s in template '%s'", k->needs,
	           code_languages[language], record.template_name);
	return FAIL_HINT(err, "%s", k->cure ? k->cure : "use a template that has it");
}

/* Kernels that lack what they need would end without a word. */
static int probe_kernel(const struct code_at *at, struct arena *a, const struct code_open *open,
                        struct error *err)
{
	const char *args[COUNT_OF(kernels[0].probe)] = {NULL};
	const struct agent_exec exec = {
	        .args = args, .env = open->env, .cwd = open->cwd, .user = open->user};
	const struct compute_run run = {
	        .exec = &exec, .out_max = PROBE_OUTPUT_MAX, .deadline = at->deadline};
	struct compute_result result;

	memcpy(args, kernels[open->language].probe, sizeof(kernels[0].probe));
	if (!args[0])
		return 0;
	if (compute_run(at->hold->provider, at->hold->id, a, &run, &result, err) < 0)
		return is_missing_program(err) ? fail_without_program(at, a, open->language, err)
		                               : -1;
	if (result.process.exit_code != 0)
		return fail_without_program(at, a, open->language, err);
	return 0;
}

static int start_kernel(const struct code_at *at, struct arena *a, const struct code_open *open,
                        struct code_context *ret, struct error *err)
{
	const struct kernel *k = &kernels[open->language];
	const char *args[] = {k->args[0], k->args[1], k->text, NULL};
	struct agent_process p;
	struct agent_exec exec = {
	        .args = args,
	        .env = open->env,
	        .cwd = open->cwd,
	        .user = open->user,
	        .label = arena_format(a, LABEL "%s:%s", code_languages[open->language], open->id),
	        .flags = AGENT_EXEC_STDIN | AGENT_EXEC_DETACH | AGENT_EXEC_RESIDENT |
	                 AGENT_EXEC_WARM,
	        .ring_bytes = RING_BYTES,
	};

	if (probe_kernel(at, a, open, err) < 0)
		return -1;
	if (compute_start(at->hold->provider, at->hold->id,
	                  &(struct compute_start){&exec, a, at->deadline}, &p, err) < 0)
		return is_missing_program(err) ? fail_without_program(at, a, open->language, err)
		                               : -1;
	fault_point("api", "code-kernel-started");
	*ret = (struct code_context){
	        .id = open->id,
	        .cwd = p.cwd,
	        .user = p.user,
	        .language = open->language,
	        .process = p.process,
	        .started_at = (int64_t)p.started_unix_ms,
	};
	return 0;
}

static int send_signal(const struct code_at *at, const struct agent_signal *signal,
                       struct error *err)
{
	return compute_signal(at->hold->provider, at->hold->id, AGENT_SIGNAL, signal, at->deadline,
	                      err);
}

int code_interrupt(const struct code_at *at, uint64_t process, struct error *err)
{
	return send_signal(at, &(struct agent_signal){.process = process, .signal = SIGINT}, err);
}

/* Until nothing of it runs any more. */
static int wait_for_end(const struct code_at *at, uint64_t process, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct agent_pong pong;
	struct agent_process p;
	struct agent_await await = {.process = process};
	const struct compute_call ping = {
	        .type = AGENT_PING,
	        WIRE_REPLY(AGENT_PONG, agent_pong_shape, pong),
	};
	const struct compute_call wait = {
	        .type = AGENT_AWAIT,
	        .shape = agent_await_shape,
	        .message = &await,
	        WIRE_REPLY(AGENT_PROCESS, agent_process_shape, p),
	};

	if (compute_call(at->hold->provider, at->hold->id, &arena, &ping, at->deadline, err) < 0)
		return -1;
	await.boot_id = pong.boot_id;
	return compute_call(at->hold->provider, at->hold->id, &arena, &wait, at->deadline, err);
}

static int end_kernel(const struct code_at *at, const struct code_context *c, struct error *err)
{
	const struct agent_signal kill = {
	        .process = c->process, .signal = SIGKILL, .whole_tree = 1};
	const struct agent_signal ended = {.process = c->process};

	/* A conflict: it has ended by itself since it was found. */
	if (!c->has_ended && ((send_signal(at, &kill, err) < 0 && err->code != ERROR_CONFLICT) ||
	                      wait_for_end(at, c->process, err) < 0))
		return -1;
	error_clear(err);
	return compute_signal(at->hold->provider, at->hold->id, AGENT_FORGET, &ended, at->deadline,
	                      err);
}

static const char *new_id(struct arena *a)
{
	char text[GIVEN_ID_SIZE];

	id_random_text(text, sizeof(text));
	return arena_text(a, text);
}

static int check_id(const char *id, struct error *err)
{
	if (is_id(span_of(id)))
		return 0;
	(void)FAIL(err, ERROR_INVALID, "'%.60s' is no id of a context", id);
	return FAIL_HINT(err, "1 to %d of a-z, 0-9 and '-', no '-' first", CODE_ID_MAX);
}

static int open_locked(const struct code_at *at, struct arena *a, const struct code_open *open,
                       struct code_context *ret, struct error *err)
{
	const struct code_context *found;
	struct code_list list;

	if (code_list(at, a, &list, err) < 0)
		return -1;
	found = pick_context(&list, open->id);
	if (found && found->language != open->language)
		return FAIL(err, ERROR_CONFLICT, "context '%s' is of %s", open->id,
		            code_languages[found->language]);
	if (found && !found->has_ended) {
		*ret = *found;
		return 0;
	}
	if (found && end_kernel(at, found, err) < 0)
		return -1;
	if (!found && list.count >= CODE_CONTEXTS_MAX) {
		(void)FAIL(err, ERROR_LIMIT, "the sandbox has %d contexts already",
		           CODE_CONTEXTS_MAX);
		return FAIL_HINT(err, "delete one of them");
	}
	return start_kernel(at, a, open, ret, err);
}

int code_open(const struct code_at *at, struct arena *a, const struct code_open *open,
              struct code_context *ret, struct error *err)
{
	AUTO(code_unlock) struct code_lock lock = {.contexts = NULL};
	struct code_open named = *open;

	if (!named.id)
		named.id = new_id(a);
	if (check_id(named.id, err) < 0 || code_lock_take(at, 0, &lock, err) < 0)
		return -1;
	return open_locked(at, a, &named, ret, err);
}

int code_restart(const struct code_at *at, struct arena *a, const char *id, const char **env,
                 struct code_context *ret, struct error *err)
{
	AUTO(code_unlock) struct code_lock lock = {.contexts = NULL};
	struct code_context old;
	struct code_open open = {.id = id, .env = env};

	if (code_lock_take(at, 0, &lock, err) < 0 || code_find(at, a, id, &old, err) < 0 ||
	    end_kernel(at, &old, err) < 0)
		return -1;
	fault_point("api", "code-kernel-ended");
	open.language = old.language;
	open.cwd = old.cwd;
	open.user = old.user;
	return start_kernel(at, a, &open, ret, err);
}

int code_close(const struct code_at *at, struct arena *a, const char *id, struct error *err)
{
	AUTO(code_unlock) struct code_lock lock = {.contexts = NULL};
	struct code_context old;

	if (code_lock_take(at, 0, &lock, err) < 0 || code_find(at, a, id, &old, err) < 0)
		return -1;
	return end_kernel(at, &old, err);
}
