/* SPDX-License-Identifier: Apache-2.0 */
/* tool/tool.h — the agent tools: one row for each tool, for all surfaces (HTTP, MCP, CLI).
 *
 * A new tool is a file with one `const struct tool`, listed in tools.c. Its shapes are its schemas:
 * the input is parsed by `input`, so its bounds hold. `call` blocks, at most until the deadline. It
 * returns 0 with a result, or -1; the surface writes the failure. All memory is in the call's
 * arena.
 *
 * Paths are relative to the workspace (`root`) and may not leave it, neither by their text
 * (path_check_relative) nor by a link (AGENT_PATH_BENEATH). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "sandbox/usage_reason.h"

struct activity_log;
struct decision_log;
struct cancel;
struct code_contexts;
struct config;
struct fleet;
struct fleet_caller;
struct fleet_hold;
struct job_origin;
struct grants;
struct jobs;
struct json_shape;
struct sandbox_record;
struct store;
struct terminals;

/* The effect of a tool on the sandbox, for permissionMode. */
enum tool_class {
	TOOL_READS, /* none */
	TOOL_EDITS, /* changes files of the workspace */
	TOOL_RUNS,  /* runs code, or changes more than files */
	TOOL_CLASS_COUNT,
};

/* permissionMode: which calls need no approval. */
enum tool_permission {
	TOOL_BYPASS, /* all calls */
	TOOL_EDIT,   /* TOOL_READS and TOOL_EDITS */
	TOOL_ASK,    /* TOOL_READS */
};

enum tool_flag {
	TOOL_IDEMPOTENT = 1 << 0,   /* a repeated call has no further effect */
	TOOL_DESTRUCTIVE = 1 << 1,  /* may overwrite or remove */
	TOOL_OPEN_WORLD = 1 << 2,   /* may reach systems outside the sandbox */
	TOOL_NO_SANDBOX = 1 << 3,   /* needs no sandbox: call->sandbox is NULL */
	TOOL_ENDS_OWN = 1 << 4,     /* needs no approval, and may end what the caller began */
	TOOL_ALONE = 1 << 5,        /* of use in an ephemeral call without a workspace */
	TOOL_OF_WORKSPACE = 1 << 6, /* of use in an ephemeral call with one */
	TOOL_MAKES_ONE = 1 << 7,    /* makes a sandbox: a budget can refuse it */
};

enum tool_content_kind { TOOL_TEXT, TOOL_IMAGE, TOOL_AUDIO, TOOL_RESOURCE };
struct tool_content {
	enum tool_content_kind kind;
	struct span bytes;      /* TOOL_TEXT: text of any encoding; else bytes */
	const char *media_type; /* of all but text */
	const char *uri;        /* of a resource */
};
#define TOOL_CONTENT_MAX 8
struct tool_result {
	struct tool_content content[TOOL_CONTENT_MAX];
	unsigned count;
	const void *structured; /* a struct of the tool's output shape */
	bool has_failed;        /* the called code has failed, other than by an exit_code */
	const char *pending;    /* id of the missing approval: the call did nothing; or NULL */
};

/* The caller, the sandbox and the limits of a call. Everything is borrowed for the call. */
struct tool_call {
	struct fleet *fleet;
	struct store *store;
	struct jobs *jobs;              /* NULL: no job can be started */
	struct activity_log *activity;  /* records the call; or NULL */
	struct decision_log *decisions; /* network decisions; or NULL */
	struct grants *grants;          /* credentials; or NULL */
	const struct config *config;
	struct terminals *terminals;    /* of windows */
	struct code_contexts *contexts; /* of blocks of code */
	struct arena *arena;
	const char *project_id, *key_id, *user_id; /* the caller's */
	const struct fleet_caller *caller;
	const char *address; /* "https://host:port", as the client reaches us; NULL: not known */
	const char *run;     /* header Atoll-Run; or NULL */
	const char *conversation_id; /* or NULL */
	/* Source of the conversation's message. The ends of jobs are reported there. Or NULL. */
	const struct job_origin *origin;
	/* The sandbox, started and held; NULL and zeros with TOOL_NO_SANDBOX. */
	const struct sandbox_record *sandbox;
	/* Of an ephemeral call: what its approval is bound to in place of the sandbox; else NULL.
	 */
	const char *ephemeral;
	struct fleet_hold *hold;
	const char *root, *user; /* the workspace, and the user who acts in it */
	const char **env;
	int64_t timeout_ms;         /* of a command without a timeout */
	int64_t timeout_max_ms;     /* of every command */
	int64_t job_timeout_max_ms; /* of a background job; 0 = no limit */
	int64_t output_limit_bytes; /* of a result's text */
	/* Limits of the sandbox's config. */
	enum tool_permission permission;
	const char *const *runtimes; /* that commands may use; NULL = all */
	bool keeps_to_workspace;     /* refuse commands with paths outside the workspace */
	int64_t approval_wait_ms;    /* how long a call waits for its approval */
	int64_t deadline;            /* monotonic ms; of the whole call */
	const struct cancel *cancel; /* ends commands and waits; or NULL */
	/* Receives output while the call runs; or NULL. */
	void (*on_progress)(void *context, struct span text);
	void *progress_context;
};

struct tool {
	const char *name; /* "read"; [a-z_]+ */
	const char *title;
	const char *description; /* for a model: the effect, when to use it, and pitfalls */
	const struct json_shape *input, *output;
	enum tool_class class;
	unsigned flags;           /* enum tool_flag */
	enum usage_reason reason; /* how its time is metered; 0 = USAGE_EXEC */
	/* Refuses invalid input before an approval is asked for; or NULL. */
	int (*check)(const struct tool_call *call, const void *input, struct error *err);
	int (*call)(const struct tool_call *call, const void *input, struct tool_result *ret,
	            struct error *err);
};
extern const struct tool *const tools[]; /* NULL-terminated, in the order of lists */
const struct tool *tool_find(const char *name);

/* Parses `input`, a JSON object, checks it, and calls the tool. A call that needs approval waits
 * for it. Without a decision in time it returns with ret->pending; the same call, made again, uses
 * the approval. */
MUST_CHECK int tool_run(const struct tool *tool, const struct tool_call *call, struct span input,
                        struct tool_result *ret, struct error *err);

/* {"name":…,"title":…,"description":…,"inputSchema":…,"outputSchema":…,"annotations":…} */
void tool_write(struct buf *out, const struct tool *tool);
/* "content":[…],"structuredContent":{…} — without braces, so that a surface adds its own. */
void tool_write_result(struct buf *out, const struct tool *tool, const struct tool_result *result);

/* Approves or refuses a pending call. An approval is valid for that call only (tool, input,
 * sandbox, key), once, for 15 minutes. The key that made the call cannot approve it. */
struct tool_decision {
	const char *project_id, *id, *key_id, *note;
	bool approves;
};
struct approval_record;
MUST_CHECK int tool_decide_approval(struct store *store, struct arena *a,
                                    const struct tool_decision *d, struct approval_record *ret,
                                    struct error *err);

/* Reads a whole file of the workspace, of at most out->size_max bytes. */
MUST_CHECK int tool_load_file(const struct tool_call *call, const char *path, struct buf *out,
                              struct error *err);

/* The paths of a folder's entries, sorted and relative to the workspace; those of folders end in a
 * slash. NULL-terminated. */
MUST_CHECK int tool_list_folder(const struct tool_call *call, const char *folder, const char ***ret,
                                struct error *err);

/* Checks a shell line by the call's `runtimes` and `keeps_to_workspace`; best effort. */
MUST_CHECK int tool_check_command(const struct tool_call *call, const char *line,
                                  struct error *err);

void tool_add_text(struct tool_result *result, struct span text);
/* Well-formed UTF-8 without NUL; invalid bytes become U+FFFD. For members of `structured`. */
const char *tool_text(struct arena *a, struct span bytes);
