/* SPDX-License-Identifier: Apache-2.0 */
/* isolation/enclosure_config.h — what runsc reads about a sandbox in gVisor (an OCI runtime
 * configuration). Private to this folder. */
#pragma once

struct arena;
struct isolation_spec;

const char *enclosure_config(struct arena *a, const struct isolation_spec *spec);
