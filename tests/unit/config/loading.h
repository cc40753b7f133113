/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/config/loading.h — config_load on a folder of the test's own. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "config/config.h"
#include "config/option.h"
#include "config/url.h"

struct loading {
	struct arena arena;
	char folder[64], file[96];
	char data_flag[96];
	const char *flags[8]; /* [0] is --data; the rest is the test's */
	char *environment[8];
	size_t variables;
	struct config config;
	struct error err;
};

static inline void loading_done(struct loading *l)
{
	(void)unlink(l->file);
	(void)rmdir(l->folder);
	arena_done(&l->arena);
}

static inline struct loading loading_new(void)
{
	struct loading l = {.folder = "/tmp/atoll-config-XXXXXX"};

	if (!mkdtemp(l.folder))
		abort();
	snprintf(l.file, sizeof(l.file), "%s/atoll.yaml", l.folder);
	return l;
}

static inline void loading_write(struct loading *l, const char *text)
{
	FILE *file = fopen(l->file, "we");

	if (!file || fputs(text, file) < 0 || fclose(file) != 0)
		abort();
}

static inline void loading_add_variable(struct loading *l, const char *text)
{
	l->environment[l->variables++] = arena_text(&l->arena, text);
}

static inline int loading_run(struct loading *l)
{
	struct config_source source = {.flags = l->flags, .environment = l->environment};

	snprintf(l->data_flag, sizeof(l->data_flag), "data=%s", l->folder);
	l->flags[0] = l->data_flag;
	return config_load(&l->arena, &source, &l->config, &l->err);
}
