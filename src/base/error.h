/* SPDX-License-Identifier: Apache-2.0 */
/* base/error.h — what went wrong, in a form every layer can add to.
 *
 * A function that can fail takes `struct error *err` last (never NULL) and returns 0 or -1, or
 * a pointer or NULL. The place that first sees the failure fills err; callers may add context
 * once; only an edge (a request, a broker message, a main) logs it. An error is a value: it
 * crosses threads and process boundaries by copy and owns nothing. */
#pragma once

#include <errno.h>

#include "base/attribute.h"

enum error_code {
	ERROR_NONE,
	ERROR_INVALID,         /* the caller's input is wrong */
	ERROR_UNAUTHENTICATED, /* no key, or one we do not know */
	ERROR_FORBIDDEN,       /* known caller, not allowed */
	ERROR_NOT_FOUND,
	ERROR_CONFLICT,    /* right request, wrong state */
	ERROR_TOO_LARGE,   /* one thing exceeds its size limit */
	ERROR_LIMIT,       /* a quota, a rate or a number of things */
	ERROR_TIMEOUT,     /* a deadline passed */
	ERROR_UNSUPPORTED, /* this provider or kernel cannot; the text names it */
	ERROR_UNAVAILABLE, /* try again later */
	ERROR_SYSTEM,      /* the host refused; see sys_errno */
	ERROR_NO_SPACE,    /* a disk, or a quota of one, is full */
	ERROR_BUDGET,      /* what may be spent is spent; the text names the budget */
	ERROR_RANGE,       /* of what is there, a part was asked for that is not */
	ERROR_CODE_COUNT,
};

#define ERROR_TEXT_MAX 256
#define ERROR_HINT_MAX 160
#define ERROR_NODE_MAX 40
#define ERROR_AWAITS_MAX 48

/* A change that has to come before the same call can succeed. */
struct error_awaits {
	char key[ERROR_AWAITS_MAX]; /* names the change for those who announce it; empty: none */
	int again_ms;               /* try again after so long, announced or not */
	int percent;                /* how far the change has come; -1 = not known */
};

struct error {
	enum error_code code;
	int sys_errno;
	const char *where;         /* "file:line" that first reported it; static storage */
	char text[ERROR_TEXT_MAX]; /* lower case, no full stop, what failed first; cut when too long
	                            */
	char hint[ERROR_HINT_MAX]; /* what would be right; may be empty */
	char node[ERROR_NODE_MAX]; /* the other server that has what this is about; or empty */
	struct error_awaits awaits;
};

/* What the edges make of a code: one table, so that no handler chooses a status. */
struct error_kind {
	const char *name; /* stable, for machines: "not_found" */
	int http_status;
	int exit_status; /* of the CLI, when Atoll itself failed */
	int may_retry;
};
const struct error_kind *error_kind_get(enum error_code code);
/* The code whose `name` this is; ERROR_SYSTEM for an unknown one. */
enum error_code error_code_parse(const char *name);

void error_set(struct error *err, enum error_code code, int sys_errno, const char *where,
               const char *format, ...) PRINTF(5, 6);
/* Puts "context: " before the text that is there. */
void error_context(struct error *err, const char *format, ...) PRINTF(2, 3);
void error_hint(struct error *err, const char *format, ...) PRINTF(2, 3);
/* Says that another server can do it. */
void error_elsewhere(struct error *err, const char *node);
/* Says that the call may be made again when `key` is announced, or after `again_ms`. */
void error_await(struct error *err, const char *key, int again_ms, int percent);
void error_clear(struct error *err);
/* ENOENT -> ERROR_NOT_FOUND, EACCES -> ERROR_FORBIDDEN, …; ERROR_SYSTEM when nothing fits. */
enum error_code error_code_of(int sys_errno);

#define ERROR_STRING_(x) #x
#define ERROR_STRING(x) ERROR_STRING_(x)
#define HERE __FILE__ ":" ERROR_STRING(__LINE__)

/* The literal -1 lets readers and analysers see that this path fails. */
#define FAIL(err, code, ...) (error_set((err), (code), 0, HERE, __VA_ARGS__), -1)
/* Appends ": strerror(errno)". */
#define FAIL_ERRNO(err, ...) (error_set((err), error_code_of(errno), errno, HERE, __VA_ARGS__), -1)
#define FAIL_CONTEXT(err, ...) (error_context((err), __VA_ARGS__), -1)
