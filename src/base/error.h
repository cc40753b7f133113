/* SPDX-License-Identifier: Apache-2.0 */
/* base/error.h — an error that every layer can add context to, and the macros and forward
 * declarations that all code may use.
 *
 * A function that can fail takes `struct error *err` last (never NULL) and returns 0 or -1, or a
 * pointer or NULL. The function that first sees the failure fills err; callers may add context
 * once; only an edge (a request, a broker message, a main) logs it. An error is a value: it is
 * copied across threads and processes and owns nothing.
 *
 * Scope owns: a variable marked AUTO_* is released when its scope ends, unless TAKE or TAKE_FD has
 * moved its value out. No macro here hides a `return`. */
#pragma once

#include <errno.h>
#include <stddef.h>

/* Nearly every header names these by pointer alone. */
struct arena;
struct buf;
struct error;
struct span;

#define MUST_CHECK __attribute__((warn_unused_result))
#define UNUSED __attribute__((unused))
#define NORETURN __attribute__((noreturn))
/* For a function with large buffers that a recursive function calls: its frame must not be merged
 * into the recursive frame. */
#define OWN_FRAME __attribute__((noinline))
#define PRINTF(text, first) __attribute__((__format__(__printf__, text, first)))

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define CONTAINER_OF(pointer, type, member)                                                        \
	((type *)(void *)((char *)(pointer)-offsetof(type, member)))

/* Zeroed memory for one object. Aborts when there is none. */
void *memory_new(size_t size);
/* The same for `count` objects. Aborts also when the product overflows. */
void *memory_array(size_t count, size_t size);
/* A copy on the heap. Aborts when there is no memory. */
char *memory_text(const char *text);
/* `items` with room for one more than `count`: doubles *capacity when it is used up. Aborts when
 * there is no memory. */
#define MEMORY_GROW_FIRST 8
void *memory_grow(void *items, size_t count, size_t *capacity, size_t item_size);
/* Closes *fd when it is not negative. Keeps errno. */
void auto_close(int *fd);
/* Frees *(void **)pointer. Keeps errno. */
void auto_free(void *pointer);

#define AUTO(done) __attribute__((cleanup(done)))
#define AUTO_CLOSE AUTO(auto_close)
#define AUTO_FREE AUTO(auto_free)

/* Moves the pointer or descriptor out: the variable no longer owns it. */
#define TAKE(pointer)                                                                              \
	({                                                                                         \
		__typeof__(pointer) taken_ = (pointer);                                            \
		(pointer) = NULL;                                                                  \
		taken_;                                                                            \
	})
#define TAKE_FD(fd)                                                                                \
	({                                                                                         \
		int taken_fd_ = (fd);                                                              \
		(fd) = -1;                                                                         \
		taken_fd_;                                                                         \
	})

/* Offset of a member, for tables. Fails to compile when the member has another type. */
#define MEMBER_OFFSET(struct_, member, type)                                                       \
	(offsetof(struct struct_, member) +                                                        \
	 0 * sizeof(char[__builtin_types_compatible_p(                                             \
	                         __typeof__(((struct struct_ *)NULL)->member), type)               \
	                         ? 1                                                               \
	                         : -1]))

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

#define ERROR_TEXT_MAX 512
#define ERROR_HINT_MAX 512
#define ERROR_NODE_MAX 40
#define ERROR_RESOURCE_MAX 16
#define ERROR_AWAITS_MAX 48

/* The change that must happen before the same call can succeed. */
struct error_awaits {
	char key[ERROR_AWAITS_MAX]; /* name of the change, as its announcer spells it; empty: none
	                             */
	int again_ms;               /* retry after this time even without an announcement */
	int percent;                /* progress of the change; -1 = unknown */
};

/* The quota or budget that is used up. */
struct error_quota {
	char name[32];  /* of the limit: "cpu"; empty: none */
	char scope[16]; /* what has the limit: "project" */
	double limit, used;
	long long reset_at; /* unix ms; 0 = when the use falls */
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
	char resource[ERROR_RESOURCE_MAX]; /* kind of the object that does not exist: "sandbox"; or
	                                      empty */
	struct error_awaits awaits;
	struct error_quota quota;
	int retry_after_s; /* ERROR_LIMIT, ERROR_BUDGET and ERROR_UNAVAILABLE: when a retry has a
	                      chance; 0 = soon */
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

/* Fails with ERROR_NOT_FOUND, "no KIND 'NAME'", and sets `resource`. */
void error_missing(struct error *err, const char *where, const char *kind, const char *name);
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
#define FAIL_MISSING(err, kind, name) (error_missing((err), HERE, (kind), (name)), -1)
/* Appends ": strerror(errno)". */
#define FAIL_ERRNO(err, ...) (error_set((err), error_code_of(errno), errno, HERE, __VA_ARGS__), -1)
#define FAIL_CONTEXT(err, ...) (error_context((err), __VA_ARGS__), -1)
/* For a failure that was recorded before. */
#define FAIL_HINT(err, ...) (error_hint((err), __VA_ARGS__), -1)
