/* SPDX-License-Identifier: Apache-2.0 */
/* base/attribute.h — the few macros that the rest of the code may lean on.
 *
 * Scope owns: a variable marked AUTO_* is released when its scope ends, unless
 * TAKE or TAKE_FD has handed it on. Nothing here hides a `return`. */
#pragma once

#include <stddef.h>

#define MUST_CHECK __attribute__((warn_unused_result))
#define UNUSED __attribute__((unused))
#define NORETURN __attribute__((noreturn))
/* For what has big buffers and is called by a function that calls itself: its frame must not become
 * a part of that one. */
#define OWN_FRAME __attribute__((noinline))
#define PRINTF(text, first) __attribute__((__format__(__printf__, text, first)))

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define CONTAINER_OF(pointer, type, member)                                                        \
	((type *)(void *)((char *)(pointer)-offsetof(type, member)))

/* Closes *fd when it is not negative. Keeps errno. */
void auto_close(int *fd);
/* Frees *(void **)pointer. Keeps errno. */
void auto_free(void *pointer);

#define AUTO(done) __attribute__((cleanup(done)))
#define AUTO_CLOSE AUTO(auto_close)
#define AUTO_FREE AUTO(auto_free)

/* Hands the pointer or descriptor on: the variable no longer owns it. */
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

/* Offset of a member, for tables; does not compile when the member's type is another. */
#define MEMBER_OFFSET(struct_, member, type)                                                       \
	(offsetof(struct struct_, member) +                                                        \
	 0 * sizeof(char[__builtin_types_compatible_p(                                             \
	                         __typeof__(((struct struct_ *)NULL)->member), type)               \
	                         ? 1                                                               \
	                         : -1]))
