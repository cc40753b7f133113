/* SPDX-License-Identifier: Apache-2.0 */
/* provider/microvm/machine.h — starts QEMU in a shell that runs, and controls it. Private to this
 * folder. */
#pragma once

#include "provider/microvm/microvm.h"

enum machine_mode {
	MACHINE_BOOT,
	MACHINE_TRIAL,   /* boots; the shell outlives it, so that its last words can be read */
	MACHINE_IMAGE,   /* boots, to be saved: it gets no identity */
	MACHINE_RESTORE, /* continues from saved memory */
	MACHINE_LOAD,    /* the same, but its processors do not run yet, and it gets no identity */
};
struct machine_start {
	const struct sandbox_spec *spec;
	enum machine_mode mode;
	bool has_kvm;      /* else processors are emulated */
	bool is_new;       /* another sandbox than the one that the files or the memory are of */
	const char *key;   /* of the image that the shell must have; NULL: any */
	const char *saved; /* folder of the memory in the shell; NULL: MICROVM_SAVED */
	int64_t deadline;
};
/* Returns when the agent listens. When the machine ends, the shell ends. */
MUST_CHECK int microvm_machine_start(struct provider *p, const struct machine_start *start,
                                     struct error *err);
/* Checks that the memory in `start->saved` is of such a machine, and sets `start->has_kvm` to its
 * accelerator. ERROR_CONFLICT when no machine of this host can continue it. */
MUST_CHECK int microvm_saved_check(struct provider *p, struct machine_start *start,
                                   struct error *err);
/* Gives a machine that runs what is its own: random numbers, name, time, limits. */
MUST_CHECK int microvm_identify(struct provider *p, const struct machine_start *start,
                                struct error *err);
/* The agent writes files of the machine to its disk. A machine that does not is left as it is. */
void microvm_sync_files(struct provider *p, const char *id, int64_t deadline);
/* Runs atoll-machine in the shell: the verb, then what follows the socket, then NULL. */
MUST_CHECK int microvm_control(struct provider *p, const char *id, const char *const *words,
                               int64_t deadline, struct error *err);
unsigned microvm_processors(const struct sandbox_spec *spec);
/* A connection to the agent of the machine. */
MUST_CHECK int microvm_connect(struct provider *p, const char *id, int64_t deadline, int *ret_fd,
                               struct error *err);
