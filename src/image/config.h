/* SPDX-License-Identifier: Apache-2.0 */
/* image/config.h — the file .NAME.json beside a template, and the configuration of OCI images. */
#pragma once

#include "image/image.h"

struct json_value;

/* `templates`: the folder of all templates. */
MUST_CHECK int config_save(int templates, const char *name, const struct image_config *config,
                           struct error *err);
MUST_CHECK int config_remove(int templates, const char *name, struct error *err);
/* Reads the configuration of the one image of an OCI layout. Texts live in the arena. Impossible
 * values (a variable without a name, port 70000) are left out. */
MUST_CHECK int oci_config_load(struct arena *a, const char *layout_dir, struct image_config *ret,
                               struct error *err);
/* The same from a full backup's description of its template: env, entrypoint, ports, user, workdir.
 * NULL = no description. */
struct image_config config_of_backup(struct arena *a, const struct json_value *said);
