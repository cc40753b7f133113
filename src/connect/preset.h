/* SPDX-License-Identifier: Apache-2.0 */
/* connect/preset.h — services that Atoll knows: which hosts get their credential by which rules,
 * which fields it has, and where their OAuth servers are. The files in presets/;
 * docs/use/credentials.md lists them. Pure.
 *
 * Rules of a file name its credential "it". Those that deny come first: what gives out credentials,
 * or carries data to where strangers read it. */
#pragma once

#include "base/error.h"
#include "connect/service.h"
#include "json/json.h"

struct arena;

struct preset_field {
	const char *name, *label;
	bool secret;
};
/* What a program inside needs to see so that it starts; it is worth nothing. */
struct preset_marker {
	const char *env, *value;
};
struct connect_preset {
	const char *name, *about, *kind;
	int64_t version;
	const char **hosts;
	struct json_list fields;      /* of struct preset_field */
	struct json_list markers;     /* of struct preset_marker */
	struct json_list rules;       /* of struct credential_rule */
	struct connect_service oauth; /* token NULL: the service has no OAuth */
};
extern const struct json_shape connect_preset_shape;
extern const char *const connect_preset_texts[]; /* NULL-terminated */

/* All, by name. */
MUST_CHECK int connect_presets(struct arena *a, struct json_list *ret, struct error *err);
/* ERROR_INVALID names the known ones. */
MUST_CHECK int connect_preset_find(struct arena *a, const char *name, struct connect_preset *ret,
                                   struct error *err);

/* The rules of a preset for a credential of this name that has these hosts ("api.github.com
 * github.com", see sandbox/credential.h): those whose host it has. ERROR_INVALID when there are
 * none. */
struct preset_use {
	const char *preset, *credential, *hosts;
};
MUST_CHECK int connect_preset_rules(struct arena *a, const struct preset_use *use,
                                    struct connect_preset *ret, struct error *err);
