/* SPDX-License-Identifier: Apache-2.0 */
#include "image/image.h"

static const int base_ports[] = {3000, 5173, 8000, 8080, 0};
static const int host_ports[] = {0};

const struct image_seed image_seeds[] = {
        {
                .name = "base",
                .description = "Debian with Python, Node.js, git, a C compiler and shell tools; "
                               "built on first use",
                .runtime = "debian",
                .recipe = "base",
                .user = "user",
                .workdir = "/home/user/project",
                .ports = base_ports,
        },
        {
                .name = "host",
                .description = "This machine's own programs, read-only, with an empty home; ready "
                               "at once",
                .runtime = "host",
                .recipe = "",
                .user = "user",
                .workdir = "/home/user/project",
                .ports = host_ports,
        },
        {.name = NULL},
};
