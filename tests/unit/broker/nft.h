/* SPDX-License-Identifier: Apache-2.0 */
/* Runs nft as a child of the test; the broker does it by atoll-launch. */
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "broker/network/firewall.h"

static inline int start_nft(const void *context, int in, int out, int *ret_pidfd, struct error *err)
{
	pid_t pid = fork();

	(void)context;
	if (pid != 0)
		return pidfd_open_of(pid, ret_pidfd, err);
	if (dup2(in, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0 &&
	    dup2(out, STDERR_FILENO) >= 0)
		(void)execle("/usr/sbin/nft", "nft", "-f", "-", (char *)NULL, (char *[]){NULL});
	_exit(1);
}

static inline void reap_nft(const void *context, int pidfd, siginfo_t *ret)
{
	(void)context;
	*ret = (siginfo_t){0};
	(void)waitid(P_PIDFD, (id_t)pidfd, ret, WEXITED);
}

static inline void run_nft_here(void)
{
	network_run_nft_by(&(const struct network_nft_runner){start_nft, reap_nft, NULL});
}
