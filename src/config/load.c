/* SPDX-License-Identifier: Apache-2.0 */
#include "config/config.h"
#include "config/option.h"

#include <ctype.h>
#include <fcntl.h>
#include <pwd.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "config/file.h"
#include "config/providers.h"
#include "config/routing.h"
#include "config/suggest.h"
#include "config/value.h"

#define VARIABLE_PREFIX "ATOLL_"

struct loader {
	struct arena *arena;
	const struct config_source *source;
	struct config *config;
	char *origins; /* one letter per option */
};

static const struct config_option *option_find(const char *name)
{
	for (const struct config_option *o = config_options; o->name; o++) {
		if (strcmp(o->name, name) == 0)
			return o;
	}
	return NULL;
}

static const char origin_letters[CONFIG_ORIGIN_COUNT + 1] = "dfes";

enum config_origin config_origin_of(const struct config *config, const struct config_option *option)
{
	const char *letter =
	        config->origins ? strchr(origin_letters, config->origins[option - config_options])
	                        : NULL;

	return letter && *letter ? (enum config_origin)(letter - origin_letters)
	                         : CONFIG_FROM_DEFAULT;
}

const char *config_origin_name(enum config_origin origin)
{
	static const char *const names[] = {"default", "file", "env", "flag"};

	return names[origin];
}

static int set_option(struct loader *l, const struct config_option *option, const char *value,
                      enum config_origin origin, struct error *err)
{
	if (value_set(l->arena, option, value, l->config, err) < 0)
		return -1;
	l->origins[option - config_options] = origin_letters[origin];
	return 0;
}

static size_t count_options(void)
{
	size_t count = 0;

	while (config_options[count].name)
		count++;
	return count;
}

/* Another version of the server has another table. */
static bool are_origins(const char *letters)
{
	return strlen(letters) == count_options() &&
	       letters[strspn(letters, origin_letters)] == '\0';
}

static int fail_unknown(const char *place, const char *name, const char *nearest, struct error *err)
{
	if (nearest)
		return FAIL(err, ERROR_INVALID, "%s: '%s' is not an option; did you mean '%s'?",
		            place, name, nearest);
	(void)FAIL(err, ERROR_INVALID, "%s: '%s' is not an option", place, name);
	return FAIL_HINT(err, "`atoll config` lists all options");
}

static int set_defaults(struct loader *l, struct error *err)
{
	for (const struct config_option *o = config_options; o->name; o++) {
		if (set_option(l, o, o->initial, CONFIG_FROM_DEFAULT, err) < 0)
			return FAIL_CONTEXT(err, "default of %s", o->name);
	}
	return 0;
}

static const char *environment_find(char *const *environment, const char *name)
{
	size_t size = strlen(name);

	for (char *const *at = environment; at && *at; at++) {
		if (strncmp(*at, name, size) == 0 && (*at)[size] == '=' && (*at)[size + 1])
			return *at + size + 1;
	}
	return NULL;
}

static const char *variable_name(struct arena *a, const struct config_option *option)
{
	char *name = arena_format(a, VARIABLE_PREFIX "%s", option->name);

	for (char *c = name; *c; c++)
		*c = (char)toupper((unsigned char)*c);
	return name;
}

/* Appends the unit that the neutral name implies. */
static const char *in_named_unit(struct arena *a, const char *name, const char *value)
{
	size_t size = strlen(name);

	if (!value || size < 3 || strcmp(name + size - 3, "_MS") != 0 ||
	    value[strspn(value, "0123456789")] != '\0')
		return value;
	return arena_format(a, "%sms", value);
}

/* Words that other software of this kind uses for the same. They count less than an option's own
 * variables. A value that no row has is taken as it is, so that the option refuses what this server
 * cannot do. */
static const struct foreign_word {
	const char *variable, *value, *option;
	const char *meaning; /* NULL: the default */
} foreign_words[] = {
        {"SANDBOX_BACKEND", "docker", "provider", "docker"},
        {"SANDBOX_EXECUTOR", "docker-direct", "provider", "docker"},
        {"SANDBOX_EXECUTOR", "agent", "provider", NULL},
};

/* The meaning of a value of the variable. */
static const char *foreign_meaning(const char *variable, const char *value)
{
	for (size_t i = 0; i < COUNT_OF(foreign_words); i++)
		if (strcmp(foreign_words[i].variable, variable) == 0 &&
		    strcmp(foreign_words[i].value, value) == 0)
			return foreign_words[i].meaning;
	return value;
}

/* "512m", "2g" or bytes, as Docker writes a limit, in whole MiB; the text itself if it is none. */
static const char *docker_size_in_mb(struct arena *a, const char *text)
{
	static const char units[] = "bkmg";
	struct error ignored = {0};
	size_t digits = strspn(text, "0123456789");
	const char *unit =
	        text[digits] ? strchr(units, tolower((unsigned char)text[digits])) : units;
	int64_t number;

	if (!unit || (text[digits] && text[digits + 1]) ||
	    span_parse_whole((struct span){text, digits}, 1, INT64_C(1) << 40, &number, &ignored) <
	            0)
		return text;
	number = unit[0] == 'g' ? number << 10
	                        : number >> (unit[0] == 'm' ? 0
	                                     : *unit == 'k' ? 10
	                                                    : 20);
	return arena_format(a, "%lld", (long long)number);
}

static const char *foreign_value(struct loader *l, const struct config_option *o,
                                 const char **ret_name)
{
	const char *value;

	for (size_t i = 0; i < COUNT_OF(foreign_words); i++) {
		const struct foreign_word *w = &foreign_words[i];

		value = strcmp(w->option, o->name) == 0
		                ? environment_find(l->source->environment, w->variable)
		                : NULL;
		value = value ? foreign_meaning(w->variable, value) : NULL;
		if (value) {
			*ret_name = w->variable;
			return value;
		}
	}
	if (strcmp(o->name, "default_memory_mb") != 0)
		return NULL;
	*ret_name = "SANDBOX_MEM_LIMIT";
	value = environment_find(l->source->environment, *ret_name);
	return value ? docker_size_in_mb(l->arena, value) : NULL;
}

static int set_from_environment(struct loader *l, struct error *err)
{
	for (const struct config_option *o = config_options; o->name; o++) {
		const char *name = variable_name(l->arena, o);
		const char *value = environment_find(l->source->environment, name);

		if (!value && o->env) {
			name = o->env;
			value = in_named_unit(l->arena, name,
			                      environment_find(l->source->environment, name));
		}
		if (!value)
			value = foreign_value(l, o, &name);
		if (value && set_option(l, o, value, CONFIG_FROM_ENVIRONMENT, err) < 0)
			return FAIL_CONTEXT(err, "%s", name);
	}
	return 0;
}

static const char *flag_of(struct arena *a, const char *name)
{
	char *flag = arena_format(a, "--%s", name);

	for (char *c = flag; *c; c++)
		*c = *c == '_' ? '-' : *c;
	return flag;
}

static int fail_unknown_flag(struct loader *l, const char *name, struct error *err)
{
	const char *nearest = suggest_option(span_of(name));

	return fail_unknown("command line", flag_of(l->arena, name),
	                    nearest ? flag_of(l->arena, nearest) : NULL, err);
}

static int set_from_flag(struct loader *l, const char *flag, struct error *err)
{
	struct span value = span_of(flag), head;
	const struct config_option *option;
	char *name;

	if (!span_split(&value, '=', &head))
		return FAIL(err, ERROR_INVALID, "--%s: expected --%s=VALUE", flag, flag);
	name = arena_copy(l->arena, head);
	for (char *c = name; *c; c++)
		*c = *c == '-' ? '_' : *c;
	option = option_find(name);
	if (!option)
		return fail_unknown_flag(l, name, err);
	if (set_option(l, option, value.data, CONFIG_FROM_FLAG, err) < 0)
		return FAIL_CONTEXT(err, "--%.*s", (int)head.size, head.data);
	return 0;
}

static int set_from_flags(struct loader *l, struct error *err)
{
	for (const char *const *at = l->source->flags; at && *at; at++) {
		if (set_from_flag(l, *at, err) < 0)
			return -1;
	}
	return 0;
}

static int set_from_line(struct loader *l, const char *path, const struct file_line *line,
                         struct error *err)
{
	const char *place = arena_format(l->arena, "%s:%zu", path, line->number);
	const struct config_option *option = option_find(line->name);

	if (!option)
		return fail_unknown(place, line->name, suggest_option(span_of(line->name)), err);
	if (!l->source->file && strcmp(line->name, "data") == 0)
		return FAIL(err, ERROR_INVALID,
		            "%s: data: a file inside the data folder cannot name it", place);
	if (set_option(l, option, line->value, CONFIG_FROM_FILE, err) < 0)
		return FAIL_CONTEXT(err, "%s: %s", place, line->name);
	return 0;
}

static int set_from_file(struct loader *l, struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(64 * 1024);
	const char *path = l->source->file;
	struct file_lines lines;

	if (!path)
		path = arena_format(l->arena, "%s/atoll.yaml", l->config->data_dir);
	if (!l->source->file && access(path, F_OK) < 0)
		return 0;
	if (file_read(AT_FDCWD, path, &text, err) < 0)
		return FAIL_CONTEXT(err, "configuration");
	if (file_parse(l->arena, path, buf_span(&text), &lines, err) < 0)
		return -1;
	for (size_t i = 0; i < lines.count; i++) {
		if (set_from_line(l, path, &lines.lines[i], err) < 0)
			return -1;
	}
	return 0;
}

int config_data_dir_default(struct arena *a, char *const *environment, const char **ret,
                            struct error *err)
{
	const char *data_home = environment_find(environment, "XDG_DATA_HOME");
	const char *home = environment_find(environment, "HOME");

	if (geteuid() == 0)
		*ret = "/var/lib/atoll";
	else if (data_home && data_home[0] == '/')
		*ret = arena_format(a, "%s/atoll", data_home);
	else if (home && home[0] == '/')
		*ret = arena_format(a, "%s/.local/share/atoll", home);
	else
		return FAIL(err, ERROR_INVALID,
		            "no data folder: neither --data, ATOLL_DATA nor HOME is set");
	return 0;
}

/* Makes the path absolute, because other processes start in other folders. */
static int settle_data_dir(struct loader *l, struct error *err)
{
	AUTO_FREE char *here = NULL;
	struct config *config = l->config;

	if (!config->data_dir || config->data_dir[0] == '\0')
		return config_data_dir_default(l->arena, l->source->environment, &config->data_dir,
		                               err);
	here = getcwd(NULL, 0);
	if (!here)
		return FAIL_ERRNO(err, "find the current folder");
	if (path_resolve(l->arena, here, span_of(config->data_dir), &config->data_dir, err) < 0)
		return FAIL_CONTEXT(err, "data");
	return 0;
}

static int set_from_sources(struct loader *l, struct error *err)
{
	/* Lowest precedence first: each source overwrites the values of the sources before it. */
	if (set_from_file(l, err) < 0 || set_from_environment(l, err) < 0)
		return -1;
	return set_from_flags(l, err);
}

/* `data` says where the file is, and flags and the environment may set `data`. They are therefore
 * read before the file, and again after it because they take precedence. */
static int set_data_dir(struct loader *l, struct error *err)
{
	if (set_defaults(l, err) < 0 || set_from_environment(l, err) < 0 ||
	    set_from_flags(l, err) < 0)
		return -1;
	return settle_data_dir(l, err);
}

static bool is_local(const char *listen)
{
	static const char *const begins[] = {"127.", "[::1]:", "unix:"};

	for (size_t i = 0; i < COUNT_OF(begins); i++)
		if (strncmp(listen, begins[i], strlen(begins[i])) == 0)
			return true;
	return false;
}

static int check_whole(const struct config *config, struct error *err)
{
	if (sandbox_resources_check(&config->defaults, err) < 0)
		return FAIL_CONTEXT(err, "default resources");
	if (sandbox_resources_check(&config->caps, err) < 0)
		return FAIL_CONTEXT(err, "resource limits");
	if (config->mcp_fixtures &&
	    !(is_local(config->listen) && (!config->tls_listen[0] || is_local(config->tls_listen))))
		return FAIL(err, ERROR_INVALID,
		            "mcp_fixtures is for conformance tests: listen must be a loopback "
		            "address such as 127.0.0.1:7777, or unix:/path");
	return 0;
}

static int settle_provider(struct arena *a, struct config *config, struct error *err)
{
	struct config_providers all;

	if (config_providers_load(a, config, &all, err) < 0)
		return FAIL_CONTEXT(err, "providers");
	config->provider = all.items[0].kind;
	return config_routing_check(a, config, err) < 0 ? FAIL_CONTEXT(err, "routing") : 0;
}

int config_load(struct arena *a, const struct config_source *source, struct config *ret,
                struct error *err)
{
	struct config config = {.user = ""};
	size_t count = count_options();
	struct loader l = {.arena = a,
	                   .source = source,
	                   .config = &config,
	                   .origins = ARENA_ARRAY(a, char, count + 1)};

	l.origins[count] = '\0';
	if (set_data_dir(&l, err) < 0 || set_from_sources(&l, err) < 0 ||
	    settle_data_dir(&l, err) < 0 || check_whole(&config, err) < 0)
		return -1;
	if (settle_provider(a, &config, err) < 0)
		return -1;
	if (config.user[0] == '\0')
		config.user = getpwnam("atoll") ? "atoll" : "nobody";
	config.origins =
	        source->origins && are_origins(source->origins) ? source->origins : l.origins;
	*ret = config;
	return 0;
}
