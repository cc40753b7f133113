/* SPDX-License-Identifier: Apache-2.0 */
/* code/code.h — contexts: interpreters in a sandbox that keep their state from one block of code to
 * the next, and report results as a notebook shows them.
 *
 *      block ──> kernel <── a process of the sandbox's agent, label "code:LANGUAGE:ID"
 *                  │          stdin   requests (code_write_request)
 *                  │          stdout  what the code writes, and messages in between
 *                  └────────> stderr  what programs that it starts write there
 *
 * A kernel is a program of Atoll that runs like any command: as the user of commands, within the
 * sandbox's limits. A warm interpreter runs it (agent/warm.h), so that it starts fast. The agent
 * holds all lasting state: the server finds contexts by listing processes, also after its restart.
 * They survive a pause and end with the sandbox's processes. An idle kernel does not count as
 * activity of the sandbox.
 *
 * A kernel is not trusted. A message lies between a mark and the end of its line:
 *
 *      RS NONCE KIND json LF       KIND: '+' the message continues, '.' it ends here
 *
 * The nonce is new for each block. A piece fits into PIPE_BUF, so that output of other processes
 * cannot come in between. Everything else is output. See reader.h.
 *
 * Blocks of one context run in sequence: see queue.h.
 *
 * Calls are made on workers, block until their deadline at most, and need a held sandbox. Texts of
 * results live in the arena. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

struct fleet_hold;
struct json_map;

#define CODE_CONTEXTS_MAX 16 /* of one sandbox, ended ones included */
#define CODE_ID_MAX 40       /* [a-z0-9-] */
#define CODE_SOURCE_MAX ((size_t)192 * 1024)
#define CODE_ENV_MAX ((size_t)32 * 1024) /* bytes of the variables of one block */
#define CODE_TIMEOUT_MS_MAX (24 * 3600 * INT64_C(1000))
#define CODE_NONCE_SIZE 17 /* with its NUL */

enum code_language {
	CODE_PYTHON,
	CODE_JAVASCRIPT,
	CODE_BASH,
	CODE_TYPESCRIPT,
	CODE_R,
	CODE_JAVA,
};
#define CODE_LANGUAGES "python, javascript, typescript, bash, r, java"
extern const char *const code_languages[]; /* names in enum's order, NULL-terminated */
extern const char *const code_programs[];  /* likewise, for the check of a config's runtimes */
/* Accepts names and their usual short forms. */
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
	bool has_ended; /* of the kernel; code_restart starts a new one */
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
/* Finds the context of that id, and restarts its kernel if that has ended, or makes a new context.
 * ERROR_UNSUPPORTED when the sandbox has no interpreter of the language: names its template, and
 * what would be needed. */
MUST_CHECK int code_open(const struct code_at *at, struct arena *a, const struct code_open *open,
                         struct code_context *ret, struct error *err);
/* Ends the kernel and starts a new one, without its state, in the same folder. */
MUST_CHECK int code_restart(const struct code_at *at, struct arena *a, const char *id,
                            const char **env, struct code_context *ret, struct error *err);
MUST_CHECK int code_close(const struct code_at *at, struct arena *a, const char *id,
                          struct error *err);
/* Like C-c: the running block ends with an error; the state is kept. */
MUST_CHECK int code_interrupt(const struct code_at *at, uint64_t process, struct error *err);

/* ERROR_TOO_LARGE, or ERROR_INVALID for invalid names of variables. */
MUST_CHECK int code_source_check(enum code_language language, const char *code,
                                 const struct json_map *env, struct error *err);
struct code_request {
	enum code_language language;
	const char *nonce, *code;
	const struct json_map *env; /* overrides the kernel's for this block; checked */
};
void code_new_nonce(char out[CODE_NONCE_SIZE]);
/* Writes the kernel's input: less than WIRE_PAYLOAD_MAX, so that it is sent in one message. */
void code_write_request(struct buf *out, const struct code_request *request);
