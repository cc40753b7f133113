/* SPDX-License-Identifier: Apache-2.0 */
#include "image/recipes.h"

#include <string.h>

#include "image/image.h"

/* Debian's nodejs and npm bring 250 packages and an old Node.js; npm's own packages bring a current
 * one in two. A package of Node.js for each processor is what npm's package "node" installs. */
#if defined(__x86_64__)
#define NODE_PROCESSOR "x64"
#elif defined(__aarch64__)
#define NODE_PROCESSOR "arm64"
#else
#error "npm has no package of Node.js for this architecture"
#endif
#define NODE "node-linux-" NODE_PROCESSOR "@24 npm@11"

static const struct image_recipe recipes[] = {
        {
                .name = "minimal",
                .packages = "bash coreutils ca-certificates curl git less ncurses-bin ncurses-term "
                            "procps python3 ripgrep sudo",
        },
        {
                .name = "base",
                .from = "minimal",
                .packages = "bzip2 cmake file g++ gcc iproute2 jq libc6-dev lsof make nano "
                            "openssh-client python-is-python3 python3-bs4 python3-dev "
                            "python3-matplotlib python3-numpy python3-openpyxl python3-pandas "
                            "python3-pil python3-pip python3-pylsp python3-pytest python3-requests "
                            "python3-scipy python3-venv rsync sqlite3 strace tmux tree unzip vim "
                            "wget xz-utils zip",
                .npm = NODE " typescript@5 tsx@4 typescript-language-server@4",
        },
        {
                .name = "python",
                .from = "minimal",
                .packages = "python-is-python3 python3-pip python3-pytest python3-requests "
                            "python3-venv",
        },
        {
                .name = "node",
                .from = "minimal",
                .packages = "unzip xz-utils",
                .npm = NODE " pnpm@10 typescript@5 tsx@4",
        },
        {
                .name = "data",
                .from = "base",
                .packages = "gnuplot-nox graphviz pandoc poppler-utils python3-lxml "
                            "python3-networkx python3-seaborn python3-sklearn python3-sqlalchemy "
                            "python3-statsmodels python3-sympy python3-xlsxwriter",
        },
        {
                .name = "web",
                .from = "base",
                .packages = "nginx-light postgresql-client python3-fastapi python3-flask "
                            "python3-jinja2 python3-uvicorn redis-tools",
                .npm = "pnpm@10 vite@7 yarn@1",
        },
        {
                .name = "browser",
                .from = "base",
                .packages = "chromium fonts-liberation fonts-noto-color-emoji python3-selenium "
                            "xauth xvfb",
                .npm = "playwright-core@1",
        },
};

const struct image_recipe *image_recipe_find(const char *name)
{
	for (size_t i = 0; i < COUNT_OF(recipes); i++)
		if (strcmp(recipes[i].name, name) == 0)
			return &recipes[i];
	return NULL;
}

const char *image_recipe_from(const char *name)
{
	const struct image_recipe *recipe = image_recipe_find(name);

	return recipe ? recipe->from : NULL;
}
