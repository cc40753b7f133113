/* SPDX-License-Identifier: Apache-2.0 */
/* config/option.h — the table of all options: flag, file, environment, default, description. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

struct config;

enum config_kind {
	CONFIG_TEXT,
	CONFIG_WHOLE,
	CONFIG_NUMBER,
	CONFIG_BOOL,
	CONFIG_DURATION,
	CONFIG_SIZE
};
struct config_option {
	/* "log_level": the flag is --log-level, the line of the file `log_level:`, the environment
	 * variable ATOLL_LOG_LEVEL. */
	const char *name;
	enum config_kind kind;
	size_t offset;   /* of the member in struct config */
	const char *env; /* neutral name besides ATOLL_…; NULL = none */
	const char *initial;
	int64_t min, max; /* of numbers, milliseconds and bytes */
	const char *about;
	/* CONFIG_TEXT: the accepted words, NULL-terminated; NULL = any text. */
	const char *const *choices;
	/* CONFIG_TEXT: refuses a value that the option cannot have; may be NULL. */
	int (*check)(const char *value, struct error *err);
	/* CONFIG_TEXT that may hold a secret: appends the value without it; NULL = no secret. */
	void (*mask)(struct buf *out, const char *value);
};
extern const struct config_option config_options[]; /* ends with name NULL */
/* Values of options that a server and one provider have; each ends with NULL. */
extern const char *const config_accelerators[], *const config_vmms[];

enum config_origin {
	CONFIG_FROM_DEFAULT,
	CONFIG_FROM_FILE,
	CONFIG_FROM_ENVIRONMENT,
	CONFIG_FROM_FLAG,
	CONFIG_ORIGIN_COUNT,
};
/* Which source set the option. */
enum config_origin config_origin_of(const struct config *config,
                                    const struct config_option *option);
const char *config_origin_name(enum config_origin origin); /* "default", "file", "env", "flag" */

/* Appends one value as config_print does, but without quotes. */
void config_print_text(struct buf *out, const struct config_option *option,
                       const struct config *config);
/* The same for an option of any kind: "90s", "true". */
void config_print_value(struct buf *out, const struct config_option *option,
                        const struct config *config);
/* Appends the flag: "--idle-reap". */
void config_add_flag(struct buf *out, const struct config_option *option);
/* Appends the reference page: a Markdown table of all options. */
void config_print_reference(struct buf *out);
