/* SPDX-License-Identifier: Apache-2.0 */
/* agent/raw.h — system calls without the C library.
 *
 * A reaper, and a command before its exec, share the agent's memory including its thread pointer. A
 * failing call of the C library there would overwrite the agent's errno. These functions return
 * -errno and change no memory. */
#pragma once

#include <sys/syscall.h>

#if defined(__x86_64__)

static inline long raw_call(long number, long a, long b, long c, long d)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = 0;
	long result = number;

	__asm__ volatile("syscall"
	                 : "+a"(result)
	                 : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
	                 : "rcx", "r11", "memory");
	return result;
}

/* clone(2) onto a stack of its own (its upper end, 16-byte aligned): the new process runs
 * run(argument) and exits with what that returns. With CLONE_PARENT_SETTID the kernel writes its
 * number to *ret_pid before it runs. */
static inline long raw_clone(unsigned long flags, void *stack, int (*run)(void *), void *argument,
                             _Atomic int *ret_pid)
{
	register long r10 __asm__("r10") = 0;
	register long r8 __asm__("r8") = 0;
	long result = SYS_clone;

	__asm__ volatile(
	        "syscall\n\t"
	        "test %%rax, %%rax\n\t"
	        "jnz 1f\n\t"
	        "mov %[argument], %%rdi\n\t"
	        "call *%[run]\n\t"
	        "mov %%eax, %%edi\n\t"
	        "mov %[exit], %%eax\n\t"
	        "syscall\n\t"
	        "hlt\n"
	        "1:"
	        : "+a"(result)
	        : "D"(flags), "S"(stack), "d"(ret_pid), "r"(r10),
	          "r"(r8), [run] "r"(run), [argument] "r"(argument), [exit] "i"(SYS_exit_group)
	        : "rcx", "r11", "memory");
	return result;
}

#elif defined(__aarch64__)

static inline long raw_call(long number, long a, long b, long c, long d)
{
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = 0;

	__asm__ volatile("svc 0"
	                 : "+r"(x0)
	                 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4)
	                 : "memory");
	return x0;
}

static inline long raw_clone(unsigned long flags, void *stack, int (*run)(void *), void *argument,
                             _Atomic int *ret_pid)
{
	register long x8 __asm__("x8") = SYS_clone;
	register long x0 __asm__("x0") = (long)flags;
	register void *x1 __asm__("x1") = stack;
	register _Atomic int *x2 __asm__("x2") = ret_pid;
	register long x3 __asm__("x3") = 0;
	register long x4 __asm__("x4") = 0;

	__asm__ volatile(
	        "svc 0\n\t"
	        "cbnz x0, 1f\n\t"
	        "mov x0, %[argument]\n\t"
	        "blr %[run]\n\t"
	        "mov x8, %[exit]\n\t"
	        "svc 0\n"
	        "1:"
	        : "+r"(x0)
	        : "r"(x8), "r"(x1), "r"(x2), "r"(x3),
	          "r"(x4), [run] "r"(run), [argument] "r"(argument), [exit] "i"(SYS_exit_group)
	        : "x30", "memory");
	return x0;
}

#else
#error "raw.h has no system calls for this architecture"
#endif
