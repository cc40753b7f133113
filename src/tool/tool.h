/* SPDX-License-Identifier: Apache-2.0 */
/* tool/tool.h — the tools that an agent has: one row per tool, whoever asks (HTTP, MCP, CLI).
 *
 * A new tool is a file with one `const struct tool`, named in tools.c. Its shapes are its schemas:
 * what the caller sent is parsed by `input`, so its bounds hold, and `call` blocks on a thread of
 * its own kind until the deadline at most. It returns 0 with a result, or -1: what a surface makes
 * of a failure is the surface's. Everything that it makes is in the call's arena.
 *
 * Paths are relative to the workspace (`root`) and may not leave it, neither by their text
 * (path_check_relative) nor by a link (AGENT_PATH_BENEATH). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "fleet/fleet.h"
#include "job/job.h"
#include "json/json.h"
#include "sandbox/price.h"

struct cancel;
struct code_contexts;
struct terminals;

/* What a tool does to the sandbox, for permissionMode. */
enum tool_class {
	TOOL_READS, /* nothing */
	TOOL_EDITS, /* changes files of the workspace */
	TOOL_RUNS,  /* anything: runs code, or changes more than files */
	TOOL_CLASS_COUNT,
};

/* permissionMode: what goes without asking. */
enum tool_permission {
	TOOL_BYPASS, /* all */
	TOOL_EDIT,   /* what reads, and what changes files */
	TOOL_ASK,    /* what reads */
};

enum tool_flag {
	TOOL_IDEMPOTENT = 1 << 0,  /* twice is as good as once */
	TOOL_DESTRUCTIVE = 1 << 1, /* may overwrite or remove */
	TOOL_OPEN_WORLD = 1 << 2,  /* may reach what is not the sandbox */
	TOOL_NO_SANDBOX = 1 << 3,  /* needs none: call->sandbox is NULL */
};

enum tool_content_kind { TOOL_TEXT, TOOL_IMAGE, TOOL_RESOURCE };
struct tool_content {
	enum tool_content_kind kind;
	struct span bytes;      /* TOOL_TEXT: text, of whatever encoding; else bytes */
	const char *media_type; /* of an image or a resource */
	const char *uri;        /* of a resource */
};
#define TOOL_CONTENT_MAX 8
struct tool_result {
	struct tool_content content[TOOL_CONTENT_MAX];
	unsigned count;
	const void *structured; /* a struct of the tool's output shape */
	const char *pending;    /* the approval that is waited for: nothing was done; or NULL */
};

/* Who calls, where, and for how long. Borrowed; of the call. */
struct tool_call {
	struct fleet *fleet;
	struct store *store;
	struct jobs *jobs; /* NULL: none can be started */
	const struct config *config;
	struct terminals *terminals;    /* of windows */
	struct code_contexts *contexts; /* of blocks of code */
	struct arena *arena;
	const char *project_id, *key_id; /* the caller's */
	const char *address; /* "https://host:port", by which it came to us; NULL = not known */
	const char *run;     /* of Atoll-Run; NULL = none */
	const char *conversation_id;     /* that the call belongs to; NULL = none named */
	const struct job_origin *origin; /* where the turn came from, and so where the ends of its
	                                    jobs are told; NULL = not told */
	/* The sandbox, started and held; NULL and zeros with TOOL_NO_SANDBOX. */
	const struct sandbox_record *sandbox;
	struct fleet_hold *hold;
	const char *root, *user; /* the workspace; who acts in it */
	const char **env;
	int64_t timeout_ms;         /* of a command that names none */
	int64_t timeout_max_ms;     /* of any */
	int64_t job_timeout_max_ms; /* of one in the background; 0 = any */
	int64_t output_limit_bytes; /* text that a result may have */
	/* What a sandbox's config says. */
	enum tool_permission permission;
	const char *const *runtimes; /* that commands may use; NULL = all */
	bool keeps_to_workspace;     /* commands are looked at for paths that lead out of it */
	int64_t approval_wait_ms;    /* for somebody's word, before a call is answered as pending */
	int64_t deadline;            /* monotonic ms; of the whole call */
	const struct cancel *cancel; /* ends what it runs or waits for; or NULL */
	/* Told what goes on meanwhile, as it comes; or NULL. */
	void (*on_progress)(void *context, struct span text);
	void *progress_context;
};

struct tool {
	const char *name; /* "read"; [a-z_]+ */
	const char *title;
	const char *description; /* for a model: what it does, when to use it, what to mind */
	const struct json_shape *input, *output;
	enum tool_class class;
	unsigned flags;           /* enum tool_flag */
	enum usage_reason reason; /* what its time is metered as; 0 = USAGE_EXEC */
	/* Refuses what nobody is to be asked about; or NULL. */
	int (*check)(const struct tool_call *call, const void *input, struct error *err);
	int (*call)(const struct tool_call *call, const void *input, struct tool_result *ret,
	            struct error *err);
};
extern const struct tool *const tools[]; /* NULL-terminated, in the order of lists */
const struct tool *tool_find(const char *name);

/* Parses `input`, a JSON object, checks it, and calls. One that needs approval waits for it, and
 * returns with ret->pending when it does not come; the same call, made again, goes on with it. */
MUST_CHECK int tool_run(const struct tool *tool, const struct tool_call *call, struct span input,
                        struct tool_result *ret, struct error *err);

/* {"name":…,"title":…,"description":…,"inputSchema":…,"outputSchema":…,"annotations":…} */
void tool_write(struct buf *out, const struct tool *tool);
/* "content":[…],"structuredContent":{…} — without braces, so that a surface adds its own. */
void tool_write_result(struct buf *out, const struct tool *tool, const struct tool_result *result);
#define TOOL_RESULT_MAX ((size_t)64 << 20)

/* Somebody's word on a call that waits: good for that very call (tool, input, sandbox, key), once,
 * within a quarter of an hour. Not by the key that made it. */
struct tool_decision {
	const char *project_id, *id, *key_id, *note;
	bool approves;
};
struct approval_record;
MUST_CHECK int tool_decide_approval(struct store *store, struct arena *a,
                                    const struct tool_decision *d, struct approval_record *ret,
                                    struct error *err);

/* A whole file of the workspace, of at most out->size_max bytes. */
MUST_CHECK int tool_load_file(const struct tool_call *call, const char *path, struct buf *out,
                              struct error *err);

/* ---- for tools ---- */

/* A look at a shell line by the call's `runtimes` and `keeps_to_workspace`; best effort. */
MUST_CHECK int tool_check_command(const struct tool_call *call, const char *line,
                                  struct error *err);

void tool_add_text(struct tool_result *result, struct span text);
/* A text without NUL, well-formed: what is not becomes U+FFFD. For members of `structured`. */
const char *tool_text(struct arena *a, struct span bytes);
