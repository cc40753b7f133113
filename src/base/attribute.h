/* SPDX-License-Identifier: Apache-2.0 */
/* base/attribute.h — the macros and the forward declarations that all code may use.
 *
 * Scope owns: a variable marked AUTO_* is released when its scope ends, unless TAKE or TAKE_FD has
 * moved its value out. No macro here hides a `return`. */
#pragma once

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
