/* SPDX-License-Identifier: Apache-2.0 */
/* provider/microvm/accelerator.h — whether KVM or emulation (TCG) runs the processors of machines.
 * Private to this folder.
 *
 * That /dev/kvm exists does not show that a kernel boots under it. A thread of its own boots a
 * machine under KVM when the provider starts. KVM is used when the agent of that machine answers.
 * Until then, and when it does not answer in time, machines are emulated; with the option `kvm`
 * creates fail instead. A file keeps the result for the same kernels, programs and QEMU; a failure
 * is tried again after a day. Any thread may call. */
#pragma once

#include "provider/microvm/microvm.h"

struct microvm_accelerator;
struct provider_accelerator;

/* Begins the trial, if one is needed. ERROR_INVALID for an unknown name of an accelerator. */
MUST_CHECK int microvm_accelerator_open(struct provider *p, const struct microvm_options *options,
                                        struct microvm_accelerator **ret, struct error *err);
/* Ends the trial, if it is under way. NULL is fine. */
void microvm_accelerator_close(struct microvm_accelerator *a);
/* Whether a machine that is made now runs under KVM. ERROR_UNAVAILABLE while the option `kvm`
 * waits for the trial, ERROR_UNSUPPORTED when the trial has failed. */
MUST_CHECK int microvm_accelerator_choose(struct microvm_accelerator *a, bool *ret_kvm,
                                          struct error *err);
void microvm_accelerator_describe(struct microvm_accelerator *a, struct provider_accelerator *ret);
