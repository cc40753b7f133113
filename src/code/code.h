/* SPDX-License-Identifier: Apache-2.0 */
/* code/code.h — contexts: interpreters in a sandbox that keep their state from one block of code to
 * the next, and tell what a notebook would show.
 *
 *      block ──> kernel <── a process of the sandbox's agent, label "code:LANGUAGE:ID"
 *                  │          stdin   requests (code_write_request)
 *                  │          stdout  what the code writes, and messages in between
 *                  └────────> stderr  what programs that it starts write there
 *
 * A kernel is a program of ours that runs as any command does: as the user of commands, in the
 * sandbox's limits. A warm interpreter takes it over (agent/warm.h), so that its start costs
 * little. All that lasts is the agent's: contexts are found again after a restart of this server by
 * asking for the processes, go on after a pause, and are gone with the sandbox's processes. An idle
 * kernel is resident: no sign that somebody uses the sandbox.
 *
 * A kernel is trusted no more than what else runs inside. A message stands between a mark and the
 * end of its line:
 *
 *      RS NONCE KIND json LF       KIND: '+' more of it follows, '.' it ends here
 *
 * The nonce is new for each block; a piece fits into PIPE_BUF, so that nothing that other
 * processes write comes in between. What does not look like this is output. See reader.h.
 *
 * Blocks of one context run one after the other: who waits for whom is in turns.h.
 *
 * Calls are made on workers, block until their deadline at most, and need a held sandbox. Texts of
 * results live in the arena. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "fleet/fleet.h"

#define CODE_CONTEXTS_MAX 16 /* of one sandbox, those that have ended included */
#define CODE_ID_MAX 40       /* [a-z0-9-] */
#define CODE_SOURCE_MAX ((size_t)192 * 1024)
#define CODE_ENV_MAX ((size_t)32 * 1024) /* bytes of the variables of one block */
#define CODE_TIMEOUT_MS_MAX (24 * 3600 * INT64_C(1000))
#define CODE_NONCE_SIZE 17 /* with its NUL */

enum code_language { CODE_PYTHON, CODE_JAVASCRIPT, CODE_BASH };
extern const char *const code_languages[]; /* names in enum's order, NULL-terminated */
/* Names and their usual short forms; others are refused by name. */
MUST_CHECK int code_language_parse(const char *name, enum code_language *ret, struct error *err);

struct code_contexts; /* process lifetime */
struct code_contexts *code_contexts_new(void);
void code_contexts_free(struct code_contexts *c); /* NULL is fine */

struct code_at {
	struct code_contexts *contexts;
	const struct fleet_hold *hold;
	int64_t deadline;
};

struct code_context {
	const char *id, *cwd, *user;
	enum code_language language;
	uint64_t process;
	bool has_ended; /* the kernel; code_restart makes it new */
	int64_t exit_code, started_at;
	uint32_t signal;
	uint64_t output_end[2];
};
struct code_list {
	struct code_context *items; /* oldest first */
	size_t count;
};
MUST_CHECK int code_list(const struct code_at *at, struct arena *a, struct code_list *ret,
                         struct error *err);
MUST_CHECK int code_find(const struct code_at *at, struct arena *a, const char *id,
                         struct code_context *ret, struct error *err);

struct code_open {
	const char *id; /* NULL = a new one */
	enum code_language language;
	const char *cwd, *user;
	const char **env; /* "KEY=value", NULL-terminated */
};
/* The context of that id, whose kernel is started anew when it has ended, or a new one.
 * ERROR_UNSUPPORTED when the sandbox has no interpreter of the language. */
MUST_CHECK int code_open(const struct code_at *at, struct arena *a, const struct code_open *open,
                         struct code_context *ret, struct error *err);
/* A new kernel in the folder of the old one, with nothing of its state; what ran in it is ended. Of
 * `open` only env counts. */
MUST_CHECK int code_restart(const struct code_at *at, struct arena *a, const char *id,
                            const char **env, struct code_context *ret, struct error *err);
MUST_CHECK int code_close(const struct code_at *at, struct arena *a, const char *id,
                          struct error *err);
/* As C-c would: the block that runs ends with an error, the state is kept. */
MUST_CHECK int code_interrupt(const struct code_at *at, uint64_t process, struct error *err);

/* ---- a block ---- */

/* ERROR_TOO_LARGE, or ERROR_INVALID for names of variables that are none. */
MUST_CHECK int code_source_check(enum code_language language, const char *code,
                                 const struct json_map *env, struct error *err);
struct code_request {
	enum code_language language;
	const char *nonce, *code;
	const struct json_map *env; /* over the kernel's, for this block; checked */
};
void code_new_nonce(char out[CODE_NONCE_SIZE]);
/* What the kernel reads, less than WIRE_PAYLOAD_MAX, so that it comes whole or not at all. */
void code_write_request(struct buf *out, const struct code_request *request);
