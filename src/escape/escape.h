/* SPDX-License-Identifier: Apache-2.0 */
/* escape/escape.h — attempts to leave a sandbox: a table of them, and the program `atoll-attempts`,
 * which makes those that run inside. `atoll check isolation` uploads the program and runs it.
 *
 * An attempt that gets through does no harm: it opens without writing, sets what is set already,
 * undoes its mounts, and stops at a bound. Those that cannot be harmless are refused unless
 * process 1 is Atoll's agent (ESCAPE_NEEDS_AGENT). */
#pragma once

#include <stdbool.h>

/* Exit statuses of the program. */
enum escape_status { ESCAPE_HELD = 0, ESCAPE_THROUGH = 1, ESCAPE_NOT_TRIED = 2 };

enum escape_group {
	ESCAPE_FILES,
	ESCAPE_MOUNTS,
	ESCAPE_KERNEL,
	ESCAPE_PROCESSES,
	ESCAPE_NETWORK,
	ESCAPE_NEIGHBOURS,
	ESCAPE_LIMITS,
	ESCAPE_GROUP_COUNT,
};

enum escape_flag {
	/* What it reaches belongs to the kernel below the sandbox. That is no way out if the
	 * sandbox has a kernel of its own. */
	ESCAPE_OWN_KERNEL = 1 << 0,
	/* Getting through is no way out by itself: it removes a further barrier. */
	ESCAPE_SECOND = 1 << 1,
	ESCAPE_NEEDS_AGENT = 1 << 2,
	/* May end or spoil the sandbox, so it comes after the others. Of an attempt against a
	 * limit such an end means that the limit held. */
	ESCAPE_SPOILS = 1 << 3,
	ESCAPE_BY_API = 1 << 4, /* calls of the API from outside; the program cannot make it */
};

/* What the attempt gets as its argument. */
enum escape_input {
	ESCAPE_INPUT_NONE,
	ESCAPE_INPUT_FILE,      /* path of a file of the host */
	ESCAPE_INPUT_PROCESS,   /* process id on the host */
	ESCAPE_INPUT_COMMAND,   /* name of a process of the host */
	ESCAPE_INPUT_ABSTRACT,  /* name of an abstract socket of the host */
	ESCAPE_INPUT_LISTENERS, /* "ADDRESS:PORT,[ADDRESS]:PORT,…" of the host */
	ESCAPE_INPUT_AGENT,     /* path of the agent's socket on the host */
	ESCAPE_INPUT_NEIGHBOUR, /* the word that the neighbour has left */
	ESCAPE_INPUT_NEIGHBOUR_ADDRESSES,
	ESCAPE_INPUT_MEMORY_MB, /* the limit of the sandbox */
	ESCAPE_INPUT_DISK_MB,
	ESCAPE_INPUT_PIDS,
};

struct escape_row {
	const char *id, *title;
	const char *tries;
	const char *success; /* how getting through is noticed */
	enum escape_group group;
	unsigned flags;
	enum escape_input input;
};

/* The last row has no id. */
extern const struct escape_row escape_rows[];
unsigned escape_row_count(void);
const char *escape_group_name(enum escape_group group);

/* `atoll-attempts ID [ARGUMENT]` prints lines and ends with an escape_status. Further verbs:
 * `--serve WORD` leaves traces for a neighbour to find and prints
 * "ADDRESS:PORT,[ADDRESS]:PORT,…", `--kernel` describes the kernel, `--link TARGET PATH` makes a
 * symbolic link. */
int escape_main(int argc, char **argv);
#define ESCAPE_PROGRAM "atoll-attempts"
/* "BOOT-ID RELEASE VERSION"; "-" for a boot id that cannot be read. */
void escape_describe_kernel(char *ret, unsigned size);
