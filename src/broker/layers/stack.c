/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/layers/stack.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"

static void format_stack(const struct layer_stack *stack, char out[LAYER_STACK_TEXT_SIZE])
{
	size_t size = 0;

	out[0] = '\0';
	for (unsigned i = 0; i < stack->count; i++)
		size += (size_t)snprintf(out + size, LAYER_STACK_TEXT_SIZE - size, "%s%s",
		                         i > 0 ? " " : "", stack->ids[i]);
}

int layer_stack_write(int folder, const char *path, const struct layer_stack *stack,
                      struct error *err)
{
	char text[LAYER_STACK_TEXT_SIZE];

	if (stack->count == 0)
		return 0;
	format_stack(stack, text);
	return symlinkat(text, folder, path) < 0 ? FAIL_ERRNO(err, "write '%s'", path) : 0;
}

int layer_stack_rewrite(int folder, const char *path, const struct layer_stack *stack,
                        struct error *err)
{
	char next[80];

	(void)snprintf(next, sizeof(next), "%s.next", path);
	if (unlinkat(folder, next, 0) < 0 && errno != ENOENT)
		return FAIL_ERRNO(err, "remove '%s'", next);
	if (layer_stack_write(folder, next, stack, err) < 0)
		return -1;
	return renameat(folder, next, folder, path) < 0 ? FAIL_ERRNO(err, "replace '%s'", path) : 0;
}

bool layer_stack_replace(struct layer_stack *stack, const char *from, const char *merged)
{
	for (unsigned i = 0; i < stack->count; i++) {
		if (strcmp(stack->ids[i], from) != 0)
			continue;
		memcpy(stack->ids[i], merged, sizeof(stack->ids[i]));
		stack->count = i + 1;
		return true;
	}
	return false;
}

int layer_stack_parse(struct layer_stack *ret, const char *text, struct error *err)
{
	struct span rest = span_of(text), word;

	ret->count = 0;
	while (rest.size > 0) {
		(void)span_split(&rest, ' ', &word);
		if (ret->count == LAYER_STACK_MAX || word.size != ID_SIZE)
			return FAIL(err, ERROR_INVALID, "'%.60s' is not a list of layers", text);
		memcpy(ret->ids[ret->count], word.data, ID_SIZE);
		ret->ids[ret->count][ID_SIZE] = '\0';
		if (!id_is_valid(ret->ids[ret->count]))
			return FAIL(err, ERROR_INVALID, "'%.60s' is not a list of layers", text);
		ret->count++;
	}
	return 0;
}

int layer_stack_read(int folder, const char *path, struct layer_stack *ret, struct error *err)
{
	char text[LAYER_STACK_TEXT_SIZE];
	ssize_t size = readlinkat(folder, path, text, sizeof(text));

	if (size < 0 && errno == ENOENT) {
		ret->count = 0;
		return 0;
	}
	if (size < 0)
		return FAIL_ERRNO(err, "read '%s'", path);
	if ((size_t)size == sizeof(text))
		return FAIL(err, ERROR_INVALID, "'%s' is not a list of layers", path);
	text[size] = '\0';
	return layer_stack_parse(ret, text, err);
}

int layer_stack_origin(int folder, const char *sandbox_id, const struct layer_stack *stack,
                       char ret[LAYER_STACK_TEXT_SIZE], struct error *err)
{
	char path[64];
	ssize_t size;

	(void)snprintf(path, sizeof(path), "%s/" ORIGIN_LINK, sandbox_id);
	size = readlinkat(folder, path, ret, LAYER_STACK_TEXT_SIZE - 1);
	if (size < 0 && errno != ENOENT)
		return FAIL_ERRNO(err, "read '%s'", path);
	if (size >= 0)
		ret[size] = '\0';
	else if (stack->count > 0)
		format_stack(stack, ret);
	else
		(void)snprintf(ret, LAYER_STACK_TEXT_SIZE, LAYER_STACK_NO_ORIGIN);
	return 0;
}

int layer_stack_put(struct layer_stack *ret, const char *top, const struct layer_stack *below,
                    struct error *err)
{
	if (below->count == LAYER_STACK_MAX) {
		(void)FAIL(err, ERROR_LIMIT, "it lies on %d snapshots already, which is the most",
		           LAYER_STACK_MAX);
		return FAIL_HINT(err, "make a new sandbox from an older snapshot, or restore one");
	}
	ret->count = below->count + 1;
	memcpy(ret->ids[0], top, sizeof(ret->ids[0]));
	for (unsigned i = 0; i < below->count; i++)
		memcpy(ret->ids[i + 1], below->ids[i], sizeof(ret->ids[0]));
	return 0;
}

bool layer_stack_equals(const struct layer_stack *a, const struct layer_stack *b)
{
	unsigned count = a ? a->count : 0;

	if (count != (b ? b->count : 0))
		return false;
	return count == 0 || memcmp(a->ids, b->ids, count * sizeof(a->ids[0])) == 0;
}
