/* SPDX-License-Identifier: Apache-2.0 */
/* agent/stack.h — stacks, in the agent's memory, of processes that share it (raw.h). */
#pragma once

#define STACK_GUARD_SIZE 4096 /* at its lower end, where nothing may be touched */
#define STACK_SIZE (16 * 1024)
#define STACK_MAPPING_SIZE (STACK_GUARD_SIZE + STACK_SIZE)
/* For functions that run there: a process that executes never returns from them, which would leave
 * AddressSanitizer's shadow of the stack poisoned. */
#define ON_OWN_STACK __attribute__((no_sanitize("address"), no_sanitize("undefined")))

/* Maps STACK_MAPPING_SIZE bytes and returns their lower end; NULL with errno. */
char *stack_map(void);
