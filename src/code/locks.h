/* SPDX-License-Identifier: Apache-2.0 */
/* code/locks.h — who is at a context, of the callers that wait on threads. Private to this folder.
 */
#pragma once

#include "base/id.h"
#include "base/list.h"
#include "code/code.h"

/* Lives on the stack of who holds it. */
struct code_lock {
	struct code_contexts *contexts; /* NULL: not held */
	struct list item;
	char sandbox[ID_SIZE + 1];
	uint64_t process; /* 0: making and ending the sandbox's contexts */
};
MUST_CHECK int code_lock_take(const struct code_at *at, uint64_t process, struct code_lock *ret,
                              struct error *err);
void code_unlock(struct code_lock *lock); /* zeroed is fine */
