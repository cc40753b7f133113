/* SPDX-License-Identifier: Apache-2.0 */
/* cli/core/resources.h — options that describe a new sandbox, shared by run, bench and plan. */
#pragma once

#include "cli/core/command.h"
#include "sandbox/sandbox.h"

#define OPTION_TEMPLATE                                                                            \
	{                                                                                          \
		"template", "TEMPLATE", "template of the sandbox: base, host or your own",         \
		        .letter = 't', .completion = COMPLETE_TEMPLATE                             \
	}
#define OPTION_TEMPLATE_OR_IMAGE                                                                   \
	{"template", "TEMPLATE|IMAGE",                                                             \
	 "template of the sandbox: base, host or your own; or an image: python:3.12",              \
	 .letter = 't', .completion = COMPLETE_TEMPLATE},                                          \
	{                                                                                          \
		"image", "IMAGE", "image of a registry; pulled once, then kept"                    \
	}
#define OPTIONS_PROVIDER                                                                           \
	{"provider", "PROVIDER", "provider that makes the sandbox, see atoll provider ls"},        \
	{                                                                                          \
		"isolation", "LEVEL",                                                              \
		        "least isolation: none, namespaces, gvisor, microvm or remote"             \
	}
#define OPTION_PULL                                                                                \
	{                                                                                          \
		"pull", "always|missing|never",                                                    \
		        "when to pull the image (default missing); always asks the registry for "  \
		        "a newer one"                                                              \
	}
#define OPTIONS_RESOURCES                                                                          \
	{"cpu", "NUMBER", "vCPUs, such as 0.5 or 2"}, {"memory", "SIZE", "MiB, or 2g"},            \
	        {"disk", "SIZE", "MiB, or 2g"},                                                    \
	{                                                                                          \
		"pids", "NUMBER", "processes and threads"                                          \
	}
#define OPTION_SNAPSHOT                                                                            \
	{                                                                                          \
		"snapshot", "SNAPSHOT", "start from this snapshot, with the snapshot's template"   \
	}
#define OPTION_CONFIG                                                                              \
	{                                                                                          \
		"config", "CONFIG", "sandbox config of the project; other options replace its own" \
	}
#define OPTION_EPHEMERAL                                                                           \
	{                                                                                          \
		"ephemeral", NULL, "make a sandbox for this call, and delete it afterwards"        \
	}
#define OPTION_WORKSPACE                                                                           \
	{                                                                                          \
		"workspace", "NAME", "files that outlive the sandbox, at /mnt/workspaces/NAME"     \
	}
#define OPTION_VOLUME                                                                              \
	{                                                                                          \
		"volume", "NAME[:PATH[:ro]]", "attach a volume (default PATH: /workspace)",        \
		        .letter = 'v', .repeats = true                                             \
	}
#define OPTION_NO_INTERNET                                                                         \
	{                                                                                          \
		"no-internet", NULL, "no network but loopback", .member = "internet=false"         \
	}
#define OPTION_GPUS                                                                                \
	{                                                                                          \
		"gpus", "NUMBER", "GPUs of the server's machine", .member = "gpus"                 \
	}
#define OPTIONS_EGRESS                                                                             \
	{"allow", "ADDRESS|HOST",                                                                  \
	 "allow an address, range or host (*.example.com); without --deny, all others "            \
	 "are "                                                                                    \
	 "denied",                                                                                 \
	 .repeats = true},                                                                         \
	        {"deny", "ADDRESS", "deny an address or range", .repeats = true},                  \
	        {"preset", "PRESET",                                                               \
	         "allow the hosts of a preset and deny all others; see 'egress "                   \
	         "preset'",                                                                        \
	         .repeats = true},                                                                 \
	        {"credential", "NAME",                                                             \
	         "let the sandbox use a credential that has a preset; denies all other hosts",     \
	         .repeats = true},                                                                 \
	        {"rules", "FILE", "JSON with rules for requests that get credentials"},            \
	{                                                                                          \
		"mode", "MODE", "what happens to what is refused: enforce, ask or watch"           \
	}

/* Whether a name is that of an image, and cannot be that of a template: it has ':', '/' or '@'. */
bool names_image(const char *name);
MUST_CHECK int resources_parse(const struct cli_arguments *args, struct sandbox_resources *ret,
                               struct error *err);
/* Adds the member "resources". */
void resources_add(struct buf *body, const struct sandbox_resources *resources);
