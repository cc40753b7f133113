/* SPDX-License-Identifier: Apache-2.0 */
/* The shapes of requests for a new sandbox. */
#include "surface/native/create_body.h"

static const struct json_member resources_request_members[] = {
        JSON_NUMBER_MEMBER(resources_body, cpu, .min = 0, .max = 1024, .about = "vCPUs",
                           .example = "0.5"),
        JSON_WHOLE_MEMBER(resources_body, memory_mb, .min = 0, .max = 1 << 24, .about = "MiB",
                          .example = "1024"),
        JSON_WHOLE_MEMBER(resources_body, disk_mb, .min = 0, .max = 1 << 28, .about = "MiB",
                          .example = "1024"),
        JSON_WHOLE_MEMBER(resources_body, pids, .min = 0, .max = 1 << 22,
                          .about = "processes and threads", .example = "512"),
};
JSON_SHAPE(resources_request, "ResourcesRequest", resources_body,
           "Limits; omitted members and 0 are inherited from the project and the platform");

const char *const native_networks[] = {"blocked", "internet", NULL};

static const struct json_member native_mount_shape_members[] = {
        JSON_TEXT_MEMBER(native_mount_body, volume, .flags = JSON_REQUIRED, .max = SANDBOX_NAME_MAX,
                         .about = "name or id"),
        JSON_TEXT_MEMBER(native_mount_body, path, .max = SANDBOX_MOUNT_PATH_MAX,
                         .about = "absolute mount point (default /workspace)", .example = "/data"),
        JSON_BOOL_MEMBER(native_mount_body, read_only,
                         .about = "mount read-only; any number of sandboxes may read a volume"),
        JSON_TEXT_MEMBER(native_mount_body, subpath, .max = SANDBOX_MOUNT_PATH_MAX,
                         .about = "folder of the volume to mount, created if missing (default: the "
                                  "whole volume)",
                         .example = "users/alice"),
};
JSON_SHAPE(native_mount_shape, "SandboxVolume", native_mount_body, "A volume and its mount point");

static const struct json_member native_create_shape_members[] = {NATIVE_CREATE_ROWS};
_Static_assert(COUNT_OF(native_create_shape_members) == NATIVE_CREATE_ROW_COUNT,
               "a request's own rows follow these");
NATIVE_CREATE_SHAPE(native_create_shape, "SandboxSpecification", native_create_body,
                    "Settings of the sandbox that a call makes");
