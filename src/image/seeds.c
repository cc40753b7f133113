/* SPDX-License-Identifier: Apache-2.0 */
#include "image/image.h"

static const int base_ports[] = {3000, 5173, 8000, 8080, 0};
static const int host_ports[] = {0};

const struct image_seed image_seeds[] = {
        {
                .name = "base",
                .description = "Debian with Python and its libraries for data, Node.js, "
                               "TypeScript, compilers, git and shell tools; built on first use",
                .runtime = "debian",
                .recipe = "base",
                .user = "user",
                .workdir = "/home/user/project",
                .ports = base_ports,
        },
        {
                .name = "minimal",
                .description = "Debian with Python, git, curl and shell tools; built on first use",
                .runtime = "debian",
                .recipe = "minimal",
                .user = "user",
                .workdir = "/home/user/project",
                .ports = base_ports,
        },
        {
                .name = "python",
                .description = "minimal with pip, venv, pytest and requests; built on first use",
                .runtime = "debian",
                .recipe = "python",
                .user = "user",
                .workdir = "/home/user/project",
                .ports = base_ports,
        },
        {
                .name = "node",
                .description = "minimal with Node.js, npm, pnpm and TypeScript; built on first use",
                .runtime = "debian",
                .recipe = "node",
                .user = "user",
                .workdir = "/home/user/project",
                .ports = base_ports,
        },
        {
                .name = "data",
                .description = "base with scikit-learn, statsmodels, seaborn, pandoc and graphviz; "
                               "built on first use",
                .runtime = "debian",
                .recipe = "data",
                .user = "user",
                .workdir = "/home/user/project",
                .ports = base_ports,
        },
        {
                .name = "web",
                .description = "base with vite, pnpm, Flask, FastAPI, nginx and database clients; "
                               "built on first use",
                .runtime = "debian",
                .recipe = "web",
                .user = "user",
                .workdir = "/home/user/project",
                .ports = base_ports,
        },
        {
                .name = "browser",
                .description = "base with Chromium, playwright-core and selenium; built on first "
                               "use",
                .runtime = "debian",
                .recipe = "browser",
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
