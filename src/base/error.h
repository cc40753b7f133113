/* SPDX-License-Identifier: Apache-2.0 */
/* base/error.h — an error that every layer can add context to.
 *
 * A function that can fail takes `struct error *err` last (never NULL) and returns 0 or -1, or a
 * pointer or NULL. The function that first sees the failure fills err; callers may add context
 * once; only an edge (a request, a broker message, a main) logs it. An error is a value: it is
 * copied across threads and processes and owns nothing. */
#pragma once

#include <errno.h>

#include "base/attribute.h"

enum error_code {
	ERROR_NONE,
	ERROR_INVALID,         /* the caller's input is wrong */
	ERROR_UNAUTHENTICATED, /* no key, or an unknown key */
	ERROR_FORBIDDEN,       /* known caller, not allowed */
	ERROR_NOT_FOUND,
	ERROR_CONFLICT,    /* right request, wrong state */
	ERROR_TOO_LARGE,   /* a single object exceeds its size limit */
	ERROR_LIMIT,       /* a quota, a rate or a count is exceeded */
	ERROR_TIMEOUT,     /* a deadline passed */
	ERROR_UNSUPPORTED, /* this provider or kernel lacks the feature; the text names it */
	ERROR_UNAVAILABLE, /* try again later */
	ERROR_SYSTEM,      /* the host refused; see sys_errno */
	ERROR_NO_SPACE,    /* a disk, or a quota of one, is full */
	ERROR_BUDGET,      /* a budget is used up; the text names the budget */
	ERROR_RANGE,       /* the requested range is outside the object */
	ERROR_CODE_COUNT,
};

#define ERROR_TEXT_MAX 256
#define ERROR_HINT_MAX 160
#define ERROR_NODE_MAX 40
#define ERROR_AWAITS_MAX 48

/* The change that must happen before the same call can succeed. */
struct error_awaits {
	char key[ERROR_AWAITS_MAX]; /* name of the change, as its announcer spells it; empty: none
	                             */
	int again_ms;               /* retry after this time even without an announcement */
	int percent;                /* progress of the change; -1 = unknown */
};

struct error {
	enum error_code code;
	int sys_errno;
	const char *where;         /* "file:line" that first reported it; static storage */
	char text[ERROR_TEXT_MAX]; /* lower case, no full stop, starts with what failed; cut when
	                              too long */
	char hint[ERROR_HINT_MAX]; /* the correct input or next step; may be empty */
	char node[ERROR_NODE_MAX]; /* the server that has the object, when it is another server; or
	                              empty */
	struct error_awaits awaits;
};

/* How the edges show a code. No handler chooses a status itself. */
struct error_kind {
	const char *name; /* stable, for machines: "not_found" */
	int http_status;
	int exit_status; /* of the CLI, when Atoll itself failed */
	int may_retry;
};
const struct error_kind *error_kind_get(enum error_code code);
/* The code with this `name`; ERROR_SYSTEM for an unknown name. */
enum error_code error_code_parse(const char *name);

void error_set(struct error *err, enum error_code code, int sys_errno, const char *where,
               const char *format, ...) PRINTF(5, 6);
/* Prepends "context: " to the text. */
void error_context(struct error *err, const char *format, ...) PRINTF(2, 3);
void error_hint(struct error *err, const char *format, ...) PRINTF(2, 3);
/* Records that server `node` can execute the call. */
void error_elsewhere(struct error *err, const char *node);
/* Records that the call may be retried when `key` is announced, or after `again_ms`. */
void error_await(struct error *err, const char *key, int again_ms, int percent);
void error_clear(struct error *err);
/* ENOENT -> ERROR_NOT_FOUND, EACCES -> ERROR_FORBIDDEN, …; ERROR_SYSTEM when nothing fits. */
enum error_code error_code_of(int sys_errno);

#define ERROR_STRING_(x) #x
#define ERROR_STRING(x) ERROR_STRING_(x)
#define HERE __FILE__ ":" ERROR_STRING(__LINE__)

/* The literal -1 shows readers and static analysers that this path fails. */
#define FAIL(err, code, ...) (error_set((err), (code), 0, HERE, __VA_ARGS__), -1)
/* Appends ": strerror(errno)". */
#define FAIL_ERRNO(err, ...) (error_set((err), error_code_of(errno), errno, HERE, __VA_ARGS__), -1)
#define FAIL_CONTEXT(err, ...) (error_context((err), __VA_ARGS__), -1)
/* For a failure that was recorded before. */
#define FAIL_HINT(err, ...) (error_hint((err), __VA_ARGS__), -1)
