/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/seccomp.h"

#include <errno.h>
#include <sched.h>
#include <unistd.h>

static const int forbidden[] = {
        SCMP_SYS(execve),
        SCMP_SYS(execveat),
        SCMP_SYS(fork),
        SCMP_SYS(vfork),
        SCMP_SYS(process_vm_readv),
        SCMP_SYS(process_vm_writev),
        SCMP_SYS(mount),
        SCMP_SYS(umount2),
        SCMP_SYS(pivot_root),
        SCMP_SYS(chroot),
        SCMP_SYS(move_mount),
        SCMP_SYS(open_tree),
        SCMP_SYS(fsopen),
        SCMP_SYS(fsconfig),
        SCMP_SYS(fsmount),
        SCMP_SYS(mount_setattr),
        SCMP_SYS(setns),
        SCMP_SYS(unshare),
        SCMP_SYS(bpf),
        SCMP_SYS(perf_event_open),
        SCMP_SYS(userfaultfd),
        SCMP_SYS(io_uring_setup),
        SCMP_SYS(keyctl),
        SCMP_SYS(add_key),
        SCMP_SYS(request_key),
        SCMP_SYS(init_module),
        SCMP_SYS(finit_module),
        SCMP_SYS(delete_module),
        SCMP_SYS(kexec_load),
        SCMP_SYS(reboot),
        SCMP_SYS(swapon),
        SCMP_SYS(swapoff),
        SCMP_SYS(open_by_handle_at),
        SCMP_SYS(name_to_handle_at),
};

/* Allows only threads. clone3 hides its flags from filters; the C library falls back to clone. The
 * leak check of a sanitizer traces from a clone of the process and is allowed. */
static int forbid_processes(scmp_filter_ctx filter)
{
	int result = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);

	if (ATOLL_SANITIZED)
		return result;
	if (result == 0)
		result = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(ptrace), 0);
	if (result == 0)
		result = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
		                          SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0));
	return result;
}

static int forbid_calls(scmp_filter_ctx filter, UNUSED const void *context)
{
	int result = forbid_processes(filter);

	for (size_t i = 0; i < COUNT_OF(forbidden) && result == 0; i++)
		result = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), forbidden[i], 0);
	return result;
}

int seccomp_allow(scmp_filter_ctx filter, const int *calls, size_t count)
{
	/* abort() sends a signal to the process itself. Its user has other processes. */
	int result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1,
	                              SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid()));

	for (size_t i = 0; i < count && result == 0; i++)
		result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, calls[i], 0);
	return result;
}

int seccomp_apply(uint32_t default_action,
                  int (*add_rules)(scmp_filter_ctx filter, const void *context),
                  const void *context, struct error *err)
{
	scmp_filter_ctx filter = seccomp_init(default_action);
	int result;

	if (!filter)
		return FAIL(err, ERROR_SYSTEM, "make a system call filter");
	result = add_rules(filter, context);
	if (result == 0)
		result = seccomp_load(filter);
	seccomp_release(filter);
	if (result == 0)
		return 0;
	errno = -result;
	return FAIL_ERRNO(err, "load the system call filter");
}

int seccomp_confine(struct error *err)
{
	return seccomp_apply(SCMP_ACT_ALLOW, forbid_calls, NULL, err);
}
