/* SPDX-License-Identifier: Apache-2.0 */
/* agent/stack.h — stacks for processes that share the agent's memory (raw.h). */
#pragma once

#define STACK_GUARD_SIZE 4096 /* at the lower end; access faults */
#define STACK_SIZE (16 * 1024)
#define STACK_MAPPING_SIZE (STACK_GUARD_SIZE + STACK_SIZE)
/* For functions on such a stack: a process that executes a program never returns from them, which
 * would leave AddressSanitizer's shadow of the stack poisoned. */
#define ON_OWN_STACK __attribute__((no_sanitize("address"), no_sanitize("undefined")))

/* Maps STACK_MAPPING_SIZE bytes and returns their lower end; NULL with errno. */
char *stack_map(void);
