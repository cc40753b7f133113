/* SPDX-License-Identifier: Apache-2.0 */
/* Runs while Atoll is built: compiles seccomp_table.c to BPF, as C arrays on stdout. The filter is
 * a binary search over ranges of numbers with the same action. The kernel tries every number when
 * it loads a filter, which takes a fifth of the time of a linear list
 * (docs/decisions/system-call-filter.md). Calls that are always allowed never run the filter again:
 * the kernel keeps a bit for each. */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "isolation/seccomp_table.h"

#define NUMBERS_MAX 1024
#define CODE_MAX 2048
#define X32_BIT 0x40000000u

#define NAMESPACES                                                                                 \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |             \
	 CLONE_NEWPID | CLONE_NEWNET)
#define NAMESPACE_TIME 0x80u /* CLONE_NEWTIME; in clone(2) these bits are the exit signal */

#define DATA(member) ((unsigned)offsetof(struct seccomp_data, member))
#define ARGUMENT(i) ((unsigned)(offsetof(struct seccomp_data, args) + 8 * (i))) /* low half */
#define RETURN_ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define RETURN_ERRNO(e) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (e))
#define LOAD(at) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (at))
#define EQUALS(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), (yes), (no))
#define HAS(bits, yes, no) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (bits), (yes), (no))
#define ABOVE(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, (value), (yes), (no))

static const struct sock_filter clone_rule[] = {
        LOAD(ARGUMENT(0)),
        HAS(NAMESPACES, 0, 1),
        RETURN_ERRNO(EPERM),
        RETURN_ALLOW,
};

static const struct sock_filter unshare_rule[] = {
        LOAD(ARGUMENT(0)),
        HAS(NAMESPACES | NAMESPACE_TIME, 0, 1),
        RETURN_ERRNO(EPERM),
        RETURN_ALLOW,
};

/* Linux, UNAME26, 32-bit address space, both, and the query of the current value. */
static const struct sock_filter personality_rule[] = {
        LOAD(ARGUMENT(0)),     EQUALS(0, 5, 0),       EQUALS(0x0008, 4, 0),
        EQUALS(0x20000, 3, 0), EQUALS(0x20008, 2, 0), EQUALS(0xffffffff, 1, 0),
        RETURN_ERRNO(EPERM),   RETURN_ALLOW,
};

/* Unix; route netlink (getifaddrs); of the internet families stream, datagram and raw (the last
 * needs a capability that no process inside has) over TCP, UDP and ICMP: no SCTP, DCCP, MPTCP
 * modules. */
static const struct sock_filter socket_rule[] = {
        LOAD(ARGUMENT(0)),
        EQUALS(AF_UNIX, 14, 0),
        EQUALS(AF_INET, 4, 0),
        EQUALS(AF_INET6, 3, 0),
        EQUALS(AF_NETLINK, 0, 12),
        LOAD(ARGUMENT(2)),
        EQUALS(0, 9, 10),
        /* 7: internet */
        LOAD(ARGUMENT(1)),
        BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xf),
        ABOVE(SOCK_RAW, 7, 0),
        LOAD(ARGUMENT(2)),
        EQUALS(0, 4, 0),
        EQUALS(1 /* ICMP */, 3, 0),
        EQUALS(6 /* TCP */, 2, 0),
        EQUALS(17 /* UDP */, 1, 0),
        EQUALS(58 /* ICMPv6 */, 0, 1),
        RETURN_ALLOW,
        RETURN_ERRNO(EAFNOSUPPORT),
};

static const struct sock_filter socketpair_rule[] = {
        LOAD(ARGUMENT(0)),
        EQUALS(AF_UNIX, 1, 0),
        RETURN_ERRNO(EAFNOSUPPORT),
        RETURN_ALLOW,
};

/* Input into another process's terminal, and line disciplines. */
static const struct sock_filter ioctl_rule[] = {
        LOAD(ARGUMENT(1)),
        EQUALS(0x5412 /* TIOCSTI */, 3, 0),
        EQUALS(0x541c /* TIOCLINUX */, 2, 0),
        EQUALS(0x5423 /* TIOCSETD */, 1, 0),
        RETURN_ALLOW,
        RETURN_ERRNO(EPERM),
};

/* Process 1 is the agent. No other pid namespace can be made inside, so that no process has
 * another number for it. */

#define AGENT_PID 1
#define ARGUMENT_HIGH(i) (ARGUMENT(i) + 4) /* both architectures have the low half first */

/* Argument 0 is a process. */
static const struct sock_filter scheduler_rule[] = {
        LOAD(ARGUMENT(0)),
        EQUALS(AGENT_PID, 0, 1),
        RETURN_ERRNO(EPERM),
        RETURN_ALLOW,
};

/* Reading its limits without setting new ones is harmless. */
static const struct sock_filter prlimit_rule[] = {
        LOAD(ARGUMENT(0)),      EQUALS(AGENT_PID, 0, 5), LOAD(ARGUMENT(2)),   EQUALS(0, 0, 2),
        LOAD(ARGUMENT_HIGH(2)), EQUALS(0, 1, 0),         RETURN_ERRNO(EPERM), RETURN_ALLOW,
};

/* Argument 0 says what argument 1 names. The agent is process 1, leads process group 1 and belongs
 * to user 0; number 0 may also stand for the caller. */
#define PRIORITY_RULE(of_user)                                                                     \
	LOAD(ARGUMENT(0)), EQUALS((of_user), 2, 0), LOAD(ARGUMENT(1)), EQUALS(AGENT_PID, 2, 3),    \
	        LOAD(ARGUMENT(1)), EQUALS(0, 0, 1), RETURN_ERRNO(EPERM), RETURN_ALLOW
static const struct sock_filter priority_rule[] = {PRIORITY_RULE(PRIO_USER)};
static const struct sock_filter io_priority_rule[] = {PRIORITY_RULE(3 /* IOPRIO_WHO_USER */)};

#define RULE(array)                                                                                \
	{                                                                                          \
		(array), sizeof(array) / sizeof((array)[0])                                        \
	}
static const struct argument_rule {
	const struct sock_filter *code;
	unsigned count;
} rules[SECCOMP_ACTION_COUNT] = {
        [SECCOMP_CLONE] = RULE(clone_rule),
        [SECCOMP_UNSHARE] = RULE(unshare_rule),
        [SECCOMP_PERSONALITY] = RULE(personality_rule),
        [SECCOMP_SOCKET] = RULE(socket_rule),
        [SECCOMP_SOCKETPAIR] = RULE(socketpair_rule),
        [SECCOMP_IOCTL] = RULE(ioctl_rule),
        [SECCOMP_SCHEDULER] = RULE(scheduler_rule),
        [SECCOMP_PRLIMIT] = RULE(prlimit_rule),
        [SECCOMP_PRIORITY] = RULE(priority_rule),
        [SECCOMP_IO_PRIORITY] = RULE(io_priority_rule),
};

struct call_range {
	unsigned first;
	enum seccomp_action action;
};

struct filter_program {
	struct sock_filter code[CODE_MAX];
	unsigned count;
	/* leaves of the search tree with an argument rule */
	struct {
		unsigned at;
		enum seccomp_action action;
	} jumps[64];
	unsigned jump_count;
};

static void add_instruction(struct filter_program *p, struct sock_filter instruction)
{
	if (p->count == CODE_MAX) {
		fputs("seccomp_compile: the filter is too long\n", stderr);
		exit(1);
	}
	p->code[p->count++] = instruction;
}

static void read_table(unsigned arch, enum seccomp_action *actions)
{
	for (const struct seccomp_row *row = seccomp_table; row->names; row++) {
		char *names = strdup(row->names), *rest = names, *name;

		while ((name = strsep(&rest, " "))) {
			int number = *name ? seccomp_syscall_resolve_name_arch(arch, name) : -1;

			/* negative: the architecture has no such call, or libseccomp is too old */
			if (number >= 0 && number < NUMBERS_MAX)
				actions[number] = row->action;
		}
		free(names);
	}
}

static unsigned find_ranges(const enum seccomp_action *actions, struct call_range *ranges)
{
	unsigned count = 0;

	for (unsigned i = 0; i < NUMBERS_MAX; i++)
		if (i == 0 || actions[i] != actions[i - 1])
			ranges[count++] = (struct call_range){i, actions[i]};
	return count;
}

static void add_leaf(struct filter_program *p, enum seccomp_action action)
{
	if (action == SECCOMP_ALLOW) {
		add_instruction(p, (struct sock_filter)RETURN_ALLOW);
	} else if (action == SECCOMP_REFUSE) {
		add_instruction(p, (struct sock_filter)RETURN_ERRNO(EPERM));
	} else if (action == SECCOMP_UNKNOWN) {
		add_instruction(p, (struct sock_filter)RETURN_ERRNO(ENOSYS));
	} else {
		p->jumps[p->jump_count].at = p->count;
		p->jumps[p->jump_count++].action = action;
		add_instruction(p, (struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, 0));
	}
}

/* The lower half follows directly, then the upper half. A conditional jump cannot reach that far,
 * so it jumps to an unconditional one. */
static void add_search(struct filter_program *p, const struct call_range *ranges, unsigned count)
{
	unsigned half = count / 2, at;

	if (count == 1) {
		add_leaf(p, ranges[0].action);
		return;
	}
	add_instruction(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K,
	                                                ranges[half].first, 0, 1));
	at = p->count;
	add_instruction(p, (struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, 0));
	add_search(p, ranges, half);
	p->code[at].k = p->count - at - 1;
	add_search(p, ranges + half, count - half);
}

static void add_rules(struct filter_program *p)
{
	for (unsigned i = 0; i < p->jump_count; i++) {
		const struct argument_rule *rule = &rules[p->jumps[i].action];

		p->code[p->jumps[i].at].k = p->count - p->jumps[i].at - 1;
		for (unsigned j = 0; j < rule->count; j++)
			add_instruction(p, rule->code[j]);
	}
}

static void compile_filter(const char *name, unsigned seccomp_arch, unsigned audit_arch)
{
	static enum seccomp_action actions[NUMBERS_MAX];
	static struct call_range ranges[NUMBERS_MAX];
	static struct filter_program p;

	memset(actions, 0, sizeof(actions));
	memset(&p, 0, sizeof(p));
	read_table(seccomp_arch, actions);
	/* Programs of another architecture (i386) may call nothing. */
	add_instruction(&p, (struct sock_filter)LOAD(DATA(arch)));
	add_instruction(&p, (struct sock_filter)EQUALS(audit_arch, 1, 0));
	add_instruction(&p, (struct sock_filter)RETURN_ERRNO(ENOSYS));
	add_instruction(&p, (struct sock_filter)LOAD(DATA(nr)));
	/* x32 has x86-64's architecture and numbers, plus a bit. */
	add_instruction(&p, (struct sock_filter)ABOVE(X32_BIT - 1, 0, 1));
	add_instruction(&p, (struct sock_filter)RETURN_ERRNO(ENOSYS));
	add_search(&p, ranges, find_ranges(actions, ranges));
	add_rules(&p);
	printf("static const struct sock_filter seccomp_filter_%s[] "
	       "__attribute__((unused)) = {\n",
	       name);
	for (unsigned i = 0; i < p.count; i++)
		printf("\t{0x%x, %u, %u, 0x%x},\n", p.code[i].code, p.code[i].jt, p.code[i].jf,
		       p.code[i].k);
	printf("};\n");
}

int main(void)
{
	printf("/* Made by seccomp_compile.c; not to be edited. */\n#pragma once\n\n"
	       "#include <linux/filter.h>\n\n");
	compile_filter("x86_64", SCMP_ARCH_X86_64, AUDIT_ARCH_X86_64);
	compile_filter("aarch64", SCMP_ARCH_AARCH64, AUDIT_ARCH_AARCH64);
	return 0;
}
