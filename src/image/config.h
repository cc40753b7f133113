/* SPDX-License-Identifier: Apache-2.0 */
/* image/config.h — the file .NAME.json beside a template, and what an OCI image says of itself. */
#pragma once

#include "image/image.h"

struct json_value;

/* `templates`: the folder of all. */
MUST_CHECK int config_save(int templates, const char *name, const struct image_config *config,
                           struct error *err);
MUST_CHECK int config_remove(int templates, const char *name, struct error *err);
/* Reads the configuration of the one image of an OCI layout. Texts live in the arena. What it says
 * that cannot be meant (a variable without a name, a port of 70000) is left out. */
MUST_CHECK int oci_config_load(struct arena *a, const char *layout_dir, struct image_config *ret,
                               struct error *err);
/* The same of what a full backup says of its template: env, entrypoint, ports, user, workdir. NULL
 * = nothing. */
struct image_config config_of_backup(struct arena *a, const struct json_value *said);
