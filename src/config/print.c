/* SPDX-License-Identifier: Apache-2.0 */
#include "config/config.h"
#include "config/option.h"

#include <ctype.h>

#include "config/value.h"

#define SHOWN_SIZE_MAX (64 * 1024)

static void write_about(struct buf *out, const struct config_option *o)
{
	AUTO(buf_done) struct buf bounds = BUF(256);

	value_write_bounds(&bounds, o);
	buf_addf(out, "# %s", o->about);
	if (bounds.size > 0)
		buf_addf(out, " (%s)", buf_text(&bounds));
}

static void write_name(struct buf *out, const struct config_option *o)
{
	buf_addf(out, "\n%s: ", o->name);
}

static void write_origin(struct buf *out, const struct config_option *o,
                         const struct config *config)
{
	static const char *const notes[CONFIG_ORIGIN_COUNT] = {
	        [CONFIG_FROM_DEFAULT] = "",
	        [CONFIG_FROM_FILE] = "; set in the file",
	        [CONFIG_FROM_ENVIRONMENT] = "; set in the environment",
	        [CONFIG_FROM_FLAG] = "; set by a flag",
	};

	buf_add_text(out, notes[config_origin_of(config, o)]);
}

void config_print_text(struct buf *out, const struct config_option *option,
                       const struct config *config)
{
	const void *slot = (const char *)config + option->offset;
	const char *text = *(const char *const *)slot;

	if (option->mask)
		option->mask(out, text);
	else
		buf_add_text(out, text);
}

void config_print_value(struct buf *out, const struct config_option *option,
                        const struct config *config)
{
	if (option->kind == CONFIG_TEXT)
		config_print_text(out, option, config);
	else
		value_write(out, option, config);
}

void config_print(struct buf *out, const struct config *config)
{
	for (const struct config_option *o = config_options; o->name; o++) {
		AUTO(buf_done) struct buf text = BUF(SHOWN_SIZE_MAX);

		write_about(out, o);
		write_origin(out, o, config);
		write_name(out, o);
		if (o->kind == CONFIG_TEXT) {
			config_print_text(&text, o, config);
			value_write_quoted(out, buf_text(&text));
		} else {
			value_write(out, o, config);
		}
		buf_add_byte(out, '\n');
	}
}

static void write_whole(struct buf *out, const struct config_option *o, const struct config *config)
{
	write_about(out, o);
	write_name(out, o);
	value_write(out, o, config);
	buf_add_byte(out, '\n');
}

void config_write(struct buf *out, const struct config *config)
{
	for (const struct config_option *o = config_options; o->name; o++)
		write_whole(out, o, config);
}

void config_write_harmless(struct buf *out, const struct config *config)
{
	for (const struct config_option *o = config_options; o->name; o++)
		if (!o->mask)
			write_whole(out, o, config);
}

void config_add_flag(struct buf *out, const struct config_option *option)
{
	buf_add_text(out, "--");
	for (const char *c = option->name; *c; c++)
		buf_add_byte(out, *c == '_' ? '-' : *c);
}

static void write_environment(struct buf *out, const struct config_option *o)
{
	buf_add_text(out, "`ATOLL_");
	for (const char *c = o->name; *c; c++)
		buf_add_byte(out, (char)toupper((unsigned char)*c));
	buf_add_byte(out, '`');
	if (o->env)
		buf_addf(out, " `%s`", o->env);
}

static void write_row(struct buf *out, const struct config_option *o)
{
	AUTO(buf_done) struct buf bounds = BUF(256);

	value_write_bounds(&bounds, o);
	buf_add_text(out, "| `");
	config_add_flag(out, o);
	buf_addf(out, "` | `%s` | %s%s%s | ", o->name, o->initial[0] ? "`" : "", o->initial,
	         o->initial[0] ? "`" : "");
	write_environment(out, o);
	buf_addf(out, " | %s%s%s%s |\n", o->about, bounds.size > 0 ? " (" : "", buf_text(&bounds),
	         bounds.size > 0 ? ")" : "");
}

void config_print_reference(struct buf *out)
{
	buf_add_text(out, "| flag | in the file | default | environment | meaning |\n"
	                  "|---|---|---|---|---|\n");
	for (const struct config_option *o = config_options; o->name; o++)
		write_row(out, o);
}
