/* SPDX-License-Identifier: Apache-2.0 */
/* The host's network for sandboxes. atoll-launch runs nft, because the broker may not. */
#include <unistd.h>

#include "broker/host/host.h"
#include "broker/host/launcher.h"
#include "broker/host/options.h"
#include "broker/network/firewall.h"
#include "broker/network/network.h"

static int start_nft(const void *context, int in, int out, int *ret_pidfd, struct error *err)
{
	static const char *const words[] = {"-f", "-"};
	struct program program = {.kind = TASK_NFT, .count = COUNT_OF(words), .words = words};
	pid_t pid;

	program_hand_on(&program, in, STDIN_FILENO);
	program_hand_on(&program, out, STDOUT_FILENO);
	program_hand_on(&program, out, STDERR_FILENO);
	return program_start(context, &program, &pid, ret_pidfd, err);
}

static void reap_nft(const void *context, int pidfd, siginfo_t *ret)
{
	launcher_reap(context, pidfd, ret);
}

int host_network_open(struct host *host, struct error *err)
{
	struct host_network *n = host->network;

	if (network_range_parse(host->options->subnet, &n->subnet, err) < 0 ||
	    network_subnet6_parse(host->options->subnet6, &n->subnet6, err) < 0 ||
	    network_allow_parse(n, host->options->allow, err) < 0)
		return -1;
	n->gateway = &host->options->gateway;
	n->is_proxied = host->options->proxied;
	n->wants_ipv6 = host->options->ipv6;
	n->log_group = host->options->log_group;
	n->names_fd = host->folders[FOLDER_RUN_NAMES];
	network_run_nft_by(&(const struct network_nft_runner){start_nft, reap_nft, host});
	network_prepare_host(n);
	return 0;
}
