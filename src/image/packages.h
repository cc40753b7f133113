/* SPDX-License-Identifier: Apache-2.0 */
/* image/packages.h — adds packages to the root filesystem of a template that is being made. */
#pragma once

#include "base/error.h"

struct host_apt;
struct image_recipe;
struct work;

/* Fills the new root with a copy of the template that the recipe starts from. */
MUST_CHECK int packages_copy_root(const struct work *w, const struct image_recipe *recipe,
                                  struct error *err);
/* Files of apt's options and sources in the scratch folder, as the jail sees them. */
#define PACKAGES_OPTIONS "apt.conf"
#define PACKAGES_SOURCES "sources.list"
/* Installs the recipe's packages there. The two files above exist. */
MUST_CHECK int packages_install(const struct work *w, const struct image_recipe *recipe,
                                void (*on_line)(void *context, const char *line), void *context,
                                struct error *err);
