/* SPDX-License-Identifier: Apache-2.0 */
/* surface/native/create_body.h — what a request says about a new sandbox: one table for creates,
 * leases and ephemeral calls.
 *
 * The struct of a request begins with struct native_create_body, its rows with NATIVE_CREATE_ROWS,
 * and its shape is a NATIVE_CREATE_SHAPE. */
#pragma once

#include "fleet/lifecycle/create.h"
#include "json/json.h"
#include "sandbox/isolation.h"
#include "surface/native/egress.h"
#include "surface/native/resources.h"
#include "surface/native/timeouts.h"

struct request;

struct native_mount_body {
	const char *volume, *path, *subpath;
	bool read_only;
};
struct native_create_body {
	struct native_egress egress;
	const char *template, *image, *region, *snapshot, *config, *provider, *isolation;
	struct json_map labels, env;
	struct resources_body resources;
	bool internet;
	int64_t gpus;
	int network, pull;
	bool persistent, preview_enabled, preview_public;
	int64_t timeout_ms;
	struct sandbox_timeouts timeouts;
	const char *volume;
	struct json_list volumes; /* of native_mount_shape */
	const char *persistent_home, *workspace, *workspace_root;
	int64_t persistent_disk_gb;
	uint64_t present;
};
/* Bits of `present`. */
enum native_create_row {
	NATIVE_CREATE_INTERNET,
	NATIVE_CREATE_NETWORK,
	NATIVE_CREATE_PREVIEW,
	NATIVE_CREATE_PERSISTENT,
	NATIVE_CREATE_OTHERS, /* other rows are not asked about */
	NATIVE_CREATE_ROW_COUNT = NATIVE_CREATE_OTHERS + 21 + SANDBOX_TIMEOUT_COUNT,
};
extern const struct json_shape native_mount_shape, native_create_shape;
extern const char *const native_networks[]; /* NULL-terminated */

#define NATIVE_CREATE_SHAPE(variable, json_name, struct_, about_)                                  \
	JSON_SHAPE_(variable, json_name, struct_, about_,                                          \
	            .present_offset = offsetof(struct native_create_body, present))

/* clang-format off */
#define NATIVE_CREATE_ROWS                                                                         \
	[NATIVE_CREATE_INTERNET] = JSON_BOOL_MEMBER(native_create_body, internet,                  \
	        .about = "false: no network"),                                                     \
	[NATIVE_CREATE_NETWORK] = JSON_CHOICE_MEMBER(native_create_body, network,                  \
	        .choices = native_networks,                                                        \
	        .about = "blocked or internet; same as the member internet"),                      \
	[NATIVE_CREATE_PREVIEW] = JSON_BOOL_MEMBER(native_create_body, preview_enabled,            \
	        .name = "previewEnabled",                                                          \
	        .about = "false: no previews of the sandbox (default true)"),                      \
	[NATIVE_CREATE_PERSISTENT] = JSON_BOOL_MEMBER(native_create_body, persistent,              \
	        .about = "the idle timeout does not delete the sandbox"),                          \
	JSON_TEXT_MEMBER(native_create_body, template, .max = 128,                                 \
	        .about = "name or id (default: the server's default template)",                    \
	        .example = "base"),                                                                \
	JSON_TEXT_MEMBER(native_create_body, image, .max = 512,                                    \
	        .about = "image of a registry, instead of a template; pulled if the project does " \
	                 "not have it yet",                                                        \
	        .example = "python:3.12"),                                                         \
	JSON_CHOICE_MEMBER(native_create_body, pull, .choices = fleet_pull_names,                  \
	        .about = "of image: missing pulls an image that the project does not have; always "\
	                 "asks the registry, and pulls when the tag has another image by now; "    \
	                 "never refuses an image that the project does not have (default missing)"),\
	JSON_TEXT_MEMBER(native_create_body, snapshot, .max = 64,                                  \
	        .about = "name or id of a snapshot; the sandbox starts with its files and on its " \
	                 "template"),                                                              \
	JSON_TEXT_MEMBER(native_create_body, config, .max = 64,                                    \
	        .about = "id or name of a config of /accounts/me/sandboxes; it supplies members "  \
	                 "that are omitted here"),                                                 \
	JSON_TEXT_MEMBER(native_create_body, provider, .max = SANDBOX_NAME_MAX,                    \
	        .about = "name of the provider that makes it, as GET /v1/providers lists them "    \
	                 "(default: the first that satisfies the request)"),                       \
	JSON_TEXT_MEMBER(native_create_body, isolation, .max = 16, .choices = isolation_choices,   \
	        .about = "the least isolation that is accepted (default: that of the first "       \
	                 "provider)"),                                                             \
	JSON_TEXT_MEMBER(native_create_body, region, .max = 64,                                    \
	        .about = "free-form label of the location; the server only stores it"),            \
	JSON_TEXT_MAP_MEMBER(native_create_body, labels, .max = SANDBOX_LABELS_MAX,                \
	        .about = "labels to filter lists by"),                                             \
	JSON_TEXT_MAP_MEMBER(native_create_body, env, .max = 256, .flags = JSON_SECRET,            \
	        .about = "environment of every command; overrides the template's environment; "    \
	                 "never returned"),                                                        \
	JSON_OBJECT_MEMBER(native_create_body, resources, &resources_request),                     \
	JSON_WHOLE_MEMBER(native_create_body, gpus, .min = 0, .max = SANDBOX_GPUS_MAX,             \
	        .about = "GPUs of the server's machine; needs a provider that gives them; the "   \
	                 "label atoll.gpus shows their number"),                                  \
	JSON_BOOL_MEMBER(native_create_body, preview_public, .name = "previewPublic",              \
	        .about = "allow shared links to previews (default false)"),                        \
	JSON_OBJECT_MEMBER(native_create_body, egress, &native_egress_shape,                       \
	        .about = "destinations that the sandbox may reach (default: all that the server "  \
	                 "permits)"),                                                              \
	JSON_TEXT_MEMBER(native_create_body, volume, .max = SANDBOX_NAME_MAX,                      \
	        .about = "name or id of a volume to mount writable at /workspace"),                \
	JSON_LIST_MEMBER(native_create_body, volumes, &native_mount_shape,                         \
	        .max = SANDBOX_MOUNTS_MAX, .about = "volumes to mount at chosen paths"),           \
	JSON_TEXT_MEMBER(native_create_body, persistent_home, .name = "persistentHome", .max = 58, \
	        .about = "KEY: the volume home-KEY is mounted at /home/user and created if "       \
	                 "missing"),                                                               \
	JSON_WHOLE_MEMBER(native_create_body, persistent_disk_gb, .name = "persistentDiskGb",      \
	        .min = 1, .max = 1 << 18,                                                          \
	        .about = "size limit of that volume in GiB when it is created (default: no "       \
	                 "limit)"),                                                                \
	JSON_TEXT_MEMBER(native_create_body, workspace, .min = 1, .max = 53,                       \
	        .about = "NAME: the files of this workspace are mounted at workspaceRoot/NAME, "   \
	                 "where commands begin; they outlive the sandbox, and any number of "      \
	                 "sandboxes share them"),                                                  \
	JSON_TEXT_MEMBER(native_create_body, workspace_root, .name = "workspaceRoot", .min = 1,    \
	        .max = 200, .about = "parent folder of the workspace (default /mnt/workspaces)"),  \
	JSON_WHOLE_MEMBER(native_create_body, timeout_ms, .min = 0, .max = TIMEOUT_MAX_MS,         \
	        .about = "time after the creation at which an ephemeral sandbox is deleted and a " \
	                 "persistent one stopped, with its files kept; 0: never"),                 \
	SANDBOX_INHERITED_TIMEOUTS(TIMEOUT_CREATE_INHERITED, native_create_body),                  \
	SANDBOX_OWN_TIMEOUTS(TIMEOUT_CREATE_OWN, native_create_body)
/* clang-format on */

/* Fills *ret for the caller of the request. `home_owner` is the workspace of struct
 * api_config_use. */
MUST_CHECK int native_create_parse(struct request *rq, const struct native_create_body *body,
                                   const char *home_owner, struct fleet_create *ret,
                                   struct error *err);
