/* SPDX-License-Identifier: Apache-2.0 */
/* surface/native/ephemeral.h — calls that name no sandbox: one is made for the call, and ends with
 * it. With a persistent config and a workspace, the call uses the sandbox that is reserved for the
 * workspace instead. */
#pragma once

#include "surface/native/create_body.h"

struct api_target;

struct native_ephemeral {
	const char *config, *workspace; /* short for those of `sandbox` */
	struct native_create_body sandbox;
};
/* Rows of a struct `s` that has a struct native_ephemeral at the member `at`. */
#define NATIVE_EPHEMERAL_ROWS(s, at)                                                               \
	{.kind = JSON_TEXT,                                                                        \
	 .name = "config",                                                                         \
	 .offset = offsetof(struct s, at.config),                                                  \
	 .max = 128,                                                                               \
	 .about = "a config of /accounts/me/sandboxes"},                                           \
	        {.kind = JSON_TEXT,                                                                \
	         .name = "workspace",                                                              \
	         .offset = offsetof(struct s, at.workspace),                                       \
	         .min = 1,                                                                         \
	         .max = 53,                                                                        \
	         .about = "name of the workspace whose files the call has, at "                    \
	                  "/mnt/workspaces/NAME"},                                                 \
	{                                                                                          \
		.kind = JSON_OBJECT, .name = "sandbox", .offset = offsetof(struct s, at.sandbox),  \
		.of = &native_create_shape, .about = "settings of the sandbox that is made"        \
	}

/* Makes the sandbox and holds it until api_target_done. */
MUST_CHECK int native_ephemeral_open(struct request *rq, const struct native_ephemeral *e,
                                     struct api_target *ret, struct error *err);
