/* SPDX-License-Identifier: Apache-2.0 */
/* cli/resources.h — the options that describe a sandbox to be made, shared by run, bench and plan.
 * Private to this folder. */
#pragma once

#include "cli/command.h"
#include "sandbox/sandbox.h"

#define OPTION_TEMPLATE                                                                            \
	{                                                                                          \
		.name = "template", .letter = 't', .value = "TEMPLATE",                            \
		.about = "what it starts from: base, host or one of yours",                        \
		.completion = COMPLETE_TEMPLATE                                                    \
	}
#define OPTIONS_RESOURCES                                                                          \
	{.name = "cpu", .value = "NUMBER", .about = "vCPUs, such as 0.5 or 2"},                    \
	        {.name = "memory", .value = "SIZE", .about = "MiB, or 2g"},                        \
	        {.name = "disk", .value = "SIZE", .about = "MiB, or 2g"},                          \
	{                                                                                          \
		.name = "pids", .value = "NUMBER", .about = "processes and threads"                \
	}
#define OPTION_VOLUME                                                                              \
	{                                                                                          \
		.name = "volume", .letter = 'v', .value = "NAME[:PATH[:ro]]", .repeats = true,     \
		.about = "a volume, at /workspace unless PATH is given"                            \
	}
#define OPTION_NO_INTERNET                                                                         \
	{                                                                                          \
		.name = "no-internet", .about = "loopback only"                                    \
	}
#define OPTIONS_EGRESS                                                                             \
	{.name = "allow",                                                                          \
	 .value = "ADDRESS|HOST",                                                                  \
	 .repeats = true,                                                                          \
	 .about = "an address, range or host (*.example.com) that it may reach; alone: nothing "   \
	          "else"},                                                                         \
	{                                                                                          \
		.name = "deny", .value = "ADDRESS", .repeats = true,                               \
		.about = "an address or range that it may not reach"                               \
	}

MUST_CHECK int resources_parse(const struct cli_arguments *args, struct sandbox_resources *ret,
                               struct error *err);
