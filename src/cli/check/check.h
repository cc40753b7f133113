/* SPDX-License-Identifier: Apache-2.0 */
/* cli/check/check.h — the parts of 'atoll check isolation'. Private to this folder.
 *
 * For each provider the command makes sandboxes, uploads `atoll-attempts` (escape/escape.h), runs
 * every attempt as root and as the sandbox's user, and keeps the worse outcome. It uses the public
 * API only. Traps on this machine make an escape visible; they need a server on this machine. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "cli/core/command.h"
#include "escape/escape.h"

/* From good to bad: of two outcomes the later one counts. */
enum check_outcome {
	CHECK_NOT_TRIED,
	CHECK_HELD,
	CHECK_OWN_KERNEL, /* it got through, to the sandbox's own kernel */
	CHECK_WEAKER,     /* a further barrier is missing: no way out by itself */
	CHECK_THROUGH,
};
const char *check_outcome_name(enum check_outcome outcome);

struct check_result {
	enum check_outcome outcome;
	const char *user;   /* NULL = the attempt has no user */
	const char *detail; /* never NULL */
};

/* traps.c: what an escape would reach on this machine. */
struct host_traps {
	const char *why_none; /* why there are none; NULL = they are set */
	char word[16];        /* also the name of the process and of the abstract socket */
	const char *folder, *file;
	const char *kernel;
	const char *addresses; /* "ADDRESS:PORT,…" */
	pid_t process;
	int abstract_fd, listener_fd;
};
/* Sets the traps if the server of `cli` runs on this machine. */
MUST_CHECK int host_traps_set(struct cli *cli, struct host_traps *ret);
void host_traps_remove(struct host_traps *traps);
#define TRAP_TEXT "only the host may read this"

/* A provider and what was found out about it. */
struct checked_provider {
	const char *name, *kind, *isolation;
	const char *template, *image; /* NULL = the server's default */
	const char *failure;          /* no sandbox could be made; NULL = one was */
	const char *kernel;
	bool is_own_kernel; /* not the kernel of this machine */
	bool has_network;
	struct check_result *results; /* as escape_rows */
};

/* cage.c: a sandbox with the program inside. */
struct cage {
	struct cli *cli;
	const char *id;      /* NULL = none */
	const char *program; /* its path inside */
	bool has_network;
};
struct cage_options {
	const struct checked_provider *provider;
	bool is_small; /* with the limits below */
};
#define CAGE_MEMORY_MB 192
#define CAGE_DISK_MB 96
#define CAGE_PIDS 64
MUST_CHECK int cage_open(struct cli *cli, const struct cage_options *options, struct cage *ret);
void cage_close(struct cage *cage);
struct cage_run {
	const char *user;
	const char *args[4]; /* of the program, ended by NULL */
};
/* Runs the program. *ret_text: what it printed. Returns its exit status, or -1. */
MUST_CHECK int cage_run_program(struct cage *cage, const struct cage_run *run,
                                const char **ret_text);

/* trials.c: makes the sandboxes of a provider and all attempts. */
void provider_check(struct cli *cli, struct checked_provider *p, const struct host_traps *traps);

/* file_attempts.c: an attempt by calls of the API; the row has ESCAPE_BY_API. */
struct check_result file_attempt_make(struct cage *cage, const char *id,
                                      const struct host_traps *traps);

/* report.c, markdown.c */
struct isolation_report {
	struct cli *cli;
	struct checked_provider *providers;
	unsigned count;
	const struct host_traps *traps;
};
unsigned report_count(const struct checked_provider *p, enum check_outcome outcome);
/* Whether something got out, or a provider could not be checked. */
bool report_has_failed(const struct isolation_report *report);
void report_print(const struct isolation_report *report);
void report_print_json(const struct isolation_report *report);
MUST_CHECK int report_write_markdown(const struct isolation_report *report, const char *path);
