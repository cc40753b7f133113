/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Exit statuses stay between what commands use (below 120) and what shells add (126 and up). */
static const struct error_kind kinds[ERROR_CODE_COUNT] = {
        /*                        name               http  exit  may be retried */
        [ERROR_NONE] = {"none", 200, 0, 0},
        [ERROR_INVALID] = {"invalid_request", 400, 122, 0},
        [ERROR_UNAUTHENTICATED] = {"unauthenticated", 401, 121, 0},
        [ERROR_FORBIDDEN] = {"forbidden", 403, 121, 0},
        [ERROR_NOT_FOUND] = {"not_found", 404, 123, 0},
        [ERROR_CONFLICT] = {"conflict", 409, 125, 0},
        [ERROR_TOO_LARGE] = {"too_large", 413, 125, 0},
        [ERROR_LIMIT] = {"limit_exceeded", 429, 120, 1},
        [ERROR_TIMEOUT] = {"timeout", 504, 124, 1},
        [ERROR_UNSUPPORTED] = {"unsupported", 501, 125, 0},
        [ERROR_UNAVAILABLE] = {"unavailable", 503, 120, 1},
        [ERROR_SYSTEM] = {"internal", 500, 125, 0},
        [ERROR_NO_SPACE] = {"no_space", 507, 120, 0},
        [ERROR_BUDGET] = {"budget_exceeded", 402, 120, 0},
        [ERROR_RANGE] = {"range_not_satisfiable", 416, 122, 0},
};

static const struct {
	int sys_errno;
	enum error_code code;
} errnos[] = {
        {EINVAL, ERROR_INVALID},
        {ENAMETOOLONG, ERROR_INVALID},
        {ENOTDIR, ERROR_INVALID},
        {EISDIR, ERROR_INVALID},
        {ELOOP, ERROR_INVALID},
        {EACCES, ERROR_FORBIDDEN},
        {EPERM, ERROR_FORBIDDEN},
        {EROFS, ERROR_FORBIDDEN},
        {ENOENT, ERROR_NOT_FOUND},
        {ESRCH, ERROR_NOT_FOUND},
        {ENXIO, ERROR_NOT_FOUND},
        {EEXIST, ERROR_CONFLICT},
        {ENOTEMPTY, ERROR_CONFLICT},
        {EBUSY, ERROR_CONFLICT},
        {ETXTBSY, ERROR_CONFLICT},
        {EADDRINUSE, ERROR_CONFLICT},
        {EFBIG, ERROR_TOO_LARGE},
        {E2BIG, ERROR_TOO_LARGE},
        {EMSGSIZE, ERROR_TOO_LARGE},
        {ENOSPC, ERROR_NO_SPACE},
        {EDQUOT, ERROR_NO_SPACE},
        {EMFILE, ERROR_LIMIT},
        {ENFILE, ERROR_LIMIT},
        {ETIMEDOUT, ERROR_TIMEOUT},
        {EOPNOTSUPP, ERROR_UNSUPPORTED},
        {ENOSYS, ERROR_UNSUPPORTED},
        {EAGAIN, ERROR_UNAVAILABLE},
        {ECONNREFUSED, ERROR_UNAVAILABLE},
        {ECONNRESET, ERROR_UNAVAILABLE},
        {EPIPE, ERROR_UNAVAILABLE},
        {EHOSTUNREACH, ERROR_UNAVAILABLE},
        {ENETUNREACH, ERROR_UNAVAILABLE},
};

const struct error_kind *error_kind_get(enum error_code code)
{
	return &kinds[(unsigned)code < ERROR_CODE_COUNT ? code : ERROR_SYSTEM];
}

enum error_code error_code_parse(const char *name)
{
	for (unsigned i = 0; i < ERROR_CODE_COUNT; i++) {
		if (strcmp(kinds[i].name, name) == 0)
			return (enum error_code)i;
	}
	return ERROR_SYSTEM;
}

enum error_code error_code_of(int sys_errno)
{
	for (unsigned i = 0; i < COUNT_OF(errnos); i++) {
		if (errnos[i].sys_errno == sys_errno)
			return errnos[i].code;
	}
	return ERROR_SYSTEM;
}

/* A text that fills its array may end inside a UTF-8 sequence: removes the incomplete sequence, so
 * the text stays valid in JSON. */
static void drop_begun_sequence(char *text, size_t capacity)
{
	size_t size = strlen(text), start = size;

	if (size + 1 < capacity)
		return;
	while (start > 0 && size - start < 4 && ((unsigned char)text[start - 1] & 0xC0) == 0x80)
		start--;
	if (start > 0 && (unsigned char)text[start - 1] >= 0xC0)
		text[start - 1] = '\0';
}

static PRINTF(3, 4) void format_cut(char *out, size_t capacity, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)vsnprintf(out, capacity, format, args);
	va_end(args);
	drop_begun_sequence(out, capacity);
}

void error_set(struct error *err, enum error_code code, int sys_errno, const char *where,
               const char *format, ...)
{
	char text[ERROR_TEXT_MAX]; /* apart: err->text may be among the arguments */
	const char *reason = sys_errno ? strerrordesc_np(sys_errno) : NULL;
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	err->code = code;
	err->sys_errno = sys_errno;
	err->where = where;
	err->retry_after_s = 0;
	err->hint[0] = err->node[0] = err->resource[0] = err->awaits.key[0] = '\0';
	err->quota.name[0] = '\0';
	if (sys_errno && !reason)
		format_cut(err->text, sizeof(err->text), "%s: errno %d", text, sys_errno);
	else
		format_cut(err->text, sizeof(err->text), "%s%s%s", text, reason ? ": " : "",
		           reason ? reason : "");
}

void error_missing(struct error *err, const char *where, const char *kind, const char *name)
{
	assert(strlen(kind) < sizeof(err->resource));
	error_set(err, ERROR_NOT_FOUND, 0, where, "no %s '%.400s'", kind, name);
	(void)snprintf(err->resource, sizeof(err->resource), "%s", kind);
}

void error_context(struct error *err, const char *format, ...)
{
	char context[ERROR_TEXT_MAX], text[ERROR_TEXT_MAX];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(context, sizeof(context), format, args);
	va_end(args);
	memcpy(text, err->text, sizeof(text));
	format_cut(err->text, sizeof(err->text), "%s: %s", context, text);
}

void error_hint(struct error *err, const char *format, ...)
{
	char hint[ERROR_HINT_MAX];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(hint, sizeof(hint), format, args);
	va_end(args);
	drop_begun_sequence(hint, sizeof(hint));
	memcpy(err->hint, hint, sizeof(hint));
}

void error_elsewhere(struct error *err, const char *node)
{
	size_t size = strnlen(node, sizeof(err->node) - 1);

	memcpy(err->node, node, size);
	err->node[size] = '\0';
}

void error_await(struct error *err, const char *key, int again_ms, int percent)
{
	size_t size = strlen(key);

	assert(size > 0 && size < sizeof(err->awaits.key));
	memcpy(err->awaits.key, key, size + 1);
	err->awaits.again_ms = again_ms;
	err->awaits.percent = percent;
}

void error_clear(struct error *err)
{
	*err = (struct error){.code = ERROR_NONE};
}
