/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/bytes.h"
#include "base/random.h"
#include "code/code.h"
#include "json/json.h"

const char *const code_languages[] = {"python", "javascript", "bash", "typescript",
                                      "r",      "java",       NULL};
const char *const code_programs[] = {"python3", "node", "bash", "node", "R", "java", NULL};

static const struct {
	const char *name;
	enum code_language language;
} names[] = {
        {"python", CODE_PYTHON},
        {"python3", CODE_PYTHON},
        {"py", CODE_PYTHON},
        {"javascript", CODE_JAVASCRIPT},
        {"js", CODE_JAVASCRIPT},
        {"node", CODE_JAVASCRIPT},
        {"bash", CODE_BASH},
        {"sh", CODE_BASH},
        {"typescript", CODE_TYPESCRIPT},
        {"ts", CODE_TYPESCRIPT},
        {"r", CODE_R},
        {"R", CODE_R},
        {"java", CODE_JAVA},
};

int code_language_parse(const char *name, enum code_language *ret, struct error *err)
{
	for (unsigned i = 0; i < COUNT_OF(names); i++) {
		if (strcmp(names[i].name, name) == 0) {
			*ret = names[i].language;
			return 0;
		}
	}
	(void)FAIL(err, ERROR_UNSUPPORTED, "there are no contexts of '%.40s'", name);
	return FAIL_HINT(err, "one of: " CODE_LANGUAGES);
}

static bool is_variable(const char *name)
{
	static const char letters[] =
	        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";

	return *name && !(*name >= '0' && *name <= '9') && name[strspn(name, letters)] == '\0';
}

/* As it is sent: a shell's has three bytes more for each quote. */
static size_t sent_size(enum code_language language, const char *text)
{
	size_t size = strlen(text);

	for (; language == CODE_BASH && *text; text++)
		size += *text == '\'' ? 3 : 0;
	return size;
}

int code_source_check(enum code_language language, const char *code, const struct json_map *env,
                      struct error *err)
{
	size_t size = 0;

	if (sent_size(language, code) > CODE_SOURCE_MAX) {
		(void)FAIL(err, ERROR_TOO_LARGE, "the code is longer than %zu bytes",
		           CODE_SOURCE_MAX);
		return FAIL_HINT(err, "write it to a file and run that");
	}
	for (size_t i = 0; env && i < env->count; i++) {
		if (!is_variable(env->pairs[i].key))
			return FAIL(err, ERROR_INVALID, "'%.40s' is no name of a variable",
			            env->pairs[i].key);
		size += 2 * strlen(env->pairs[i].key) + sent_size(language, env->pairs[i].value) +
		        16;
	}
	if (size > CODE_ENV_MAX)
		return FAIL(err, ERROR_TOO_LARGE, "the variables are longer than %zu bytes",
		            CODE_ENV_MAX);
	return 0;
}

void code_new_nonce(char out[CODE_NONCE_SIZE])
{
	unsigned char bytes[CODE_NONCE_SIZE / 2];

	random_bytes(bytes, sizeof(bytes));
	hex_encode(bytes, sizeof(bytes), out);
}

/* "NONCE SIZE SIZE\n", the code, "KEY=value" entries between zero bytes. */
static void write_sized(struct buf *out, const struct code_request *request)
{
	AUTO(buf_done) struct buf env = BUF(CODE_ENV_MAX + 1);

	for (size_t i = 0; request->env && i < request->env->count; i++)
		buf_addf(&env, "%s=%s%c", request->env->pairs[i].key, request->env->pairs[i].value,
		         '\0');
	buf_addf(out, "%s %08zu %08zu\n", request->nonce, strlen(request->code), env.size);
	buf_add_text(out, request->code);
	buf_add_span(out, buf_span(&env));
}

/* As one word of a shell. */
static void write_quoted(struct buf *out, const char *text)
{
	buf_add_byte(out, '\'');
	for (; *text; text++) {
		if (*text == '\'')
			buf_add_text(out, "'\\''");
		else
			buf_add_byte(out, *text);
	}
	buf_add_byte(out, '\'');
}

/* Lines for a shell that reads its input line by line: an interrupt ends the current line, and the
 * next line reports it. */
static void write_lines(struct buf *out, const struct code_request *request)
{
	size_t count = request->env ? request->env->count : 0;

	buf_addf(out, "__atoll_begin %s\n", request->nonce);
	buf_add_text(out, "__atoll_keep");
	for (size_t i = 0; i < count; i++)
		buf_addf(out, " %s", request->env->pairs[i].key);
	for (size_t i = 0; i < count; i++) {
		buf_addf(out, "\nexport %s=", request->env->pairs[i].key);
		write_quoted(out, request->env->pairs[i].value);
	}
	buf_add_text(out, "\neval ");
	write_quoted(out, request->code);
	buf_add_text(out, " </dev/null\n__atoll_status=$?\neval \"$__atoll_env\"\n");
	buf_addf(out, "__atoll_end %s $__atoll_status\n", request->nonce);
}

void code_write_request(struct buf *out, const struct code_request *request)
{
	if (request->language == CODE_BASH)
		write_lines(out, request);
	else
		write_sized(out, request);
}
