/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/mask.h"

#include <stdlib.h>
#include <string.h>

#include "wire/agent.h"
#include "wire/agent_secrets.h"

#define WINDOW_MAX (AGENT_DATA_MAX + 2 * AGENT_SECRET_VALUE_MAX)

struct secret_mask {
	char *values[AGENT_SECRETS_MAX];
	size_t sizes[AGENT_SECRETS_MAX], count;
	struct buf raw, shown; /* of one size: the end of the stream, as it came and masked */
	size_t told;           /* bytes of their begin that were shown already */
};

struct secret_mask *secret_mask_new(const char *const *secrets)
{
	struct secret_mask *m;

	if (!secrets || !secrets[0])
		return NULL;
	m = memory_new(sizeof(*m));
	m->raw = m->shown = BUF(WINDOW_MAX);
	(void)buf_reserve(&m->raw, WINDOW_MAX); /* so that it leaves nothing behind when it grows */
	for (; *secrets && m->count < AGENT_SECRETS_MAX; secrets++) {
		const char *value = strchr(*secrets, '=');

		if (!value || !value[1])
			continue;
		m->values[m->count] = memory_text(value + 1);
		m->sizes[m->count++] = strlen(value + 1);
	}
	return m;
}

void secret_mask_free(struct secret_mask *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->count; i++) {
		explicit_bzero(m->values[i], m->sizes[i]);
		free(m->values[i]);
	}
	buf_wipe(&m->raw);
	buf_wipe(&m->shown);
	free(m);
}

static void overwrite_value(struct secret_mask *m, size_t i)
{
	const char *from = m->raw.data, *end = m->raw.data + m->raw.size, *found;

	while ((found = memmem(from, (size_t)(end - from), m->values[i], m->sizes[i]))) {
		memset(m->shown.data + (found - m->raw.data), '*', m->sizes[i]);
		from = found + 1;
	}
}

static bool ends_with_begin(const struct secret_mask *m, size_t size)
{
	const char *tail = m->raw.data + m->raw.size - size;

	for (size_t i = 0; i < m->count; i++)
		if (size < m->sizes[i] && memcmp(tail, m->values[i], size) == 0)
			return true;
	return false;
}

/* The longest end that begins a value. */
static size_t find_begun(const struct secret_mask *m)
{
	size_t size = AGENT_SECRET_VALUE_MAX - 1;

	if (size > m->raw.size)
		size = m->raw.size;
	for (; size >= MASK_BEGUN_MIN; size--)
		if (ends_with_begin(m, size))
			return size;
	return 0;
}

/* Shows all but the last `kept` bytes. Of what is shown so many bytes stay that a value that they
 * begin is found. */
static void show_bytes(struct secret_mask *m, size_t kept, struct buf *out)
{
	size_t until = m->raw.size - kept, stays = kept;

	if (until > m->told) {
		buf_add(out, m->shown.data + m->told, until - m->told);
		m->told = until;
	}
	if (stays < MASK_BEGUN_MIN - 1)
		stays = MASK_BEGUN_MIN - 1;
	if (stays < m->raw.size - m->told)
		stays = m->raw.size - m->told;
	if (stays >= m->raw.size)
		return;
	m->told -= m->raw.size - stays;
	buf_consume(&m->raw, m->raw.size - stays);
	buf_consume(&m->shown, m->shown.size - stays);
}

void secret_mask_add(struct secret_mask *m, struct span bytes, struct buf *out)
{
	while (bytes.size > 0) {
		struct span piece = {bytes.data,
		                     bytes.size < AGENT_DATA_MAX ? bytes.size : AGENT_DATA_MAX};

		buf_add_span(&m->raw, piece);
		buf_add_span(&m->shown, piece);
		for (size_t i = 0; i < m->count; i++)
			overwrite_value(m, i);
		show_bytes(m, find_begun(m), out);
		span_skip(&bytes, piece.size);
	}
}

void secret_mask_end(struct secret_mask *m, struct buf *out)
{
	size_t kept = secret_mask_kept(m);

	if (kept > 0)
		memset(m->shown.data + m->told, '*', kept);
	show_bytes(m, 0, out);
}

size_t secret_mask_kept(const struct secret_mask *m)
{
	return m->raw.size - m->told;
}
