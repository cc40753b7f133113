/* SPDX-License-Identifier: Apache-2.0 */
/* cli/core/resources.h — options that describe a new sandbox, shared by run, bench and plan. */
#pragma once

#include "cli/core/command.h"
#include "sandbox/sandbox.h"

#define OPTION_TEMPLATE                                                                            \
	{                                                                                          \
		.name = "template", .letter = 't', .value = "TEMPLATE",                            \
		.about = "template of the sandbox: base, host or your own",                        \
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
		.about = "attach a volume (default PATH: /workspace)"                              \
	}
#define OPTION_NO_INTERNET                                                                         \
	{                                                                                          \
		.name = "no-internet", .about = "no network but loopback",                         \
		.member = "internet=false"                                                         \
	}
#define OPTIONS_EGRESS                                                                             \
	{.name = "allow",                                                                          \
	 .value = "ADDRESS|HOST",                                                                  \
	 .repeats = true,                                                                          \
	 .about = "allow an address, range or host (*.example.com); without --deny, all others "   \
	          "are "                                                                           \
	          "denied"},                                                                       \
	{                                                                                          \
		.name = "deny", .value = "ADDRESS", .repeats = true,                               \
		.about = "deny an address or range"                                                \
	}

MUST_CHECK int resources_parse(const struct cli_arguments *args, struct sandbox_resources *ret,
                               struct error *err);
/* Adds the member "resources". */
void resources_add(struct buf *body, const struct sandbox_resources *resources);
