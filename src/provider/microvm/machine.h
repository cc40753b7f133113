/* SPDX-License-Identifier: Apache-2.0 */
/* provider/microvm/machine.h — starts QEMU in a shell that runs, and controls it. Private to this
 * folder. */
#pragma once

#include "provider/microvm/microvm.h"

enum machine_mode {
	MACHINE_BOOT,
	MACHINE_TRIAL,   /* boots; the shell outlives it, so that its last words can be read */
	MACHINE_IMAGE,   /* boots, to be saved: it gets no identity */
	MACHINE_RESTORE, /* continues from MICROVM_SAVED, as a sandbox of its own */
};
struct machine_start {
	const struct sandbox_spec *spec;
	enum machine_mode mode;
	bool has_kvm;    /* else processors are emulated */
	const char *key; /* of the image that the shell must have; NULL: any */
	int64_t deadline;
};
/* Returns when the agent listens. When the machine ends, the shell ends. */
MUST_CHECK int microvm_machine_start(struct provider *p, const struct machine_start *start,
                                     struct error *err);
/* Runs atoll-machine in the shell: the verb, then what follows the socket, then NULL. */
MUST_CHECK int microvm_control(struct provider *p, const char *id, const char *const *words,
                               int64_t deadline, struct error *err);
unsigned microvm_processors(const struct sandbox_spec *spec);
/* A connection to the agent of the machine. */
MUST_CHECK int microvm_connect(struct provider *p, const char *id, int64_t deadline, int *ret_fd,
                               struct error *err);
