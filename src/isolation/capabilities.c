/* SPDX-License-Identifier: Apache-2.0 */
#include <linux/capability.h>

#include "isolation/apply.h"

/* The capabilities that package managers, sudo and servers need. Absent on purpose: SYS_ADMIN,
 * SYS_PTRACE, NET_ADMIN and NET_RAW (the network namespace belongs to the host anyway), MKNOD,
 * SYS_RESOURCE, SYS_MODULE, BPF, PERFMON, AUDIT_WRITE. */
static const unsigned char kept[] = {
        CAP_CHOWN,  CAP_DAC_OVERRIDE, CAP_FOWNER,           CAP_FSETID,     CAP_KILL,    CAP_SETGID,
        CAP_SETUID, CAP_SETPCAP,      CAP_NET_BIND_SERVICE, CAP_SYS_CHROOT, CAP_SETFCAP,
};

uint64_t isolation_capabilities(void)
{
	uint64_t bits = 0;

	for (unsigned i = 0; i < COUNT_OF(kept); i++)
		bits |= UINT64_C(1) << kept[i];
	return bits;
}
