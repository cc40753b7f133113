/* SPDX-License-Identifier: Apache-2.0 */
/* code/locks.h — locks of contexts for callers that wait on threads.
 */
#pragma once

#include "base/id.h"
#include "base/list.h"
#include "code/code.h"

/* Lives on the stack of its holder. */
struct code_lock {
	struct code_contexts *contexts; /* NULL: not held */
	struct list item;
	char sandbox[ID_SIZE + 1];
	uint64_t process; /* 0: locks making and ending the sandbox's contexts */
};
MUST_CHECK int code_lock_take(const struct code_at *at, uint64_t process, struct code_lock *ret,
                              struct error *err);
void code_unlock(struct code_lock *lock); /* zeroed is fine */
