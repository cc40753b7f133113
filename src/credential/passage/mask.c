/* SPDX-License-Identifier: Apache-2.0 */
/* Wu and Manber's search: the last bytes of a window say how far the window may move. */
#include "credential/passage/mask.h"

#include <stdlib.h>
#include <string.h>

#include "credential/rule.h"
#include "json/base64.h"
#include "json/json.h"
#include "signature/signature.h"

#define TABLE_BITS 12
#define TABLE_SIZE (1u << TABLE_BITS)
#define BLOCK 3
#define FORMS_MAX 16 /* of one value */
#define FORM_SIZE_MAX (CREDENTIAL_VALUE_MAX * 4)

struct needle {
	char *data;
	size_t size;
	struct needle *next; /* with the same block at the end of the window */
};

struct mask {
	struct needle *needles;
	size_t count;
	size_t window;   /* size of the shortest */
	size_t size_max; /* of the longest */
	uint16_t shift[TABLE_SIZE];
	struct needle *by_block[TABLE_SIZE];
};

static unsigned block_hash(const char *at)
{
	uint32_t block = (uint32_t)(unsigned char)at[0] | (uint32_t)(unsigned char)at[1] << 8 |
	                 (uint32_t)(unsigned char)at[2] << 16;

	return (block * UINT32_C(2654435761)) >> (32 - TABLE_BITS);
}

static void add_needle(struct mask *m, struct span form)
{
	if (form.size < MASK_VALUE_MIN)
		return;
	for (size_t i = 0; i < m->count; i++)
		if (span_equals(form, (struct span){m->needles[i].data, m->needles[i].size}))
			return;
	struct needle *n = &m->needles[m->count++];

	n->data = memory_new(form.size);
	n->size = form.size;
	memcpy(n->data, form.data, form.size);
}

static void swap_bytes(struct buf *b, char from, char to)
{
	for (size_t i = 0; i < b->size; i++)
		if (b->data[i] == from)
			b->data[i] = to;
}

/* What does not depend on the bytes around the value: whole groups of six bits. */
static void add_base64(struct mask *m, struct span value, struct buf *form, size_t offset)
{
	AUTO(buf_done) struct buf padded = BUF(FORM_SIZE_MAX);
	size_t first = (offset * 8 + 5) / 6, last = (offset + value.size) * 8 / 6;

	buf_add(&padded, "\0\0", offset);
	buf_add_span(&padded, value);
	buf_reset(form);
	base64_encode(form, buf_span(&padded));
	form->size = last;
	add_needle(m, span_after(buf_span(form), first));
	swap_bytes(form, '+', '-');
	swap_bytes(form, '/', '_');
	add_needle(m, span_after(buf_span(form), first));
	if (padded.data)
		explicit_bzero(padded.data, padded.capacity);
}

static void add_escaped(struct mask *m, struct span value, struct buf *form)
{
	buf_reset(form);
	signature_encode(form, value, false);
	add_needle(m, buf_span(form));
	for (size_t i = 0; i + 2 < form->size; i++)
		if (form->data[i] == '%')
			for (size_t j = i + 1; j <= i + 2; j++)
				if (form->data[j] >= 'A' && form->data[j] <= 'F')
					form->data[j] = (char)(form->data[j] - 'A' + 'a');
	add_needle(m, buf_span(form));
}

static void add_json(struct mask *m, struct span value, struct buf *form)
{
	buf_reset(form);
	json_write_text(form, value);
	add_needle(m, (struct span){form->data + 1, form->size - 2}); /* without quotes */
	buf_reset(form);
	for (size_t i = 0; i < value.size; i++) {
		if (strchr("\"\\/", value.data[i]))
			buf_add_byte(form, '\\');
		buf_add_byte(form, value.data[i]);
	}
	add_needle(m, buf_span(form));
	buf_reset(form);
	for (size_t i = 0; i < value.size; i++) {
		if (value.data[i] == '/')
			buf_add_byte(form, '\\');
		buf_add_byte(form, value.data[i]);
	}
	add_needle(m, buf_span(form));
}

static void add_hex(struct mask *m, struct span value, struct buf *form)
{
	for (unsigned i = 0; i < 2; i++) {
		buf_reset(form);
		for (size_t j = 0; j < value.size; j++)
			buf_addf(form, i == 0 ? "%02x" : "%02X", (unsigned char)value.data[j]);
		add_needle(m, buf_span(form));
	}
}

static void add_forms(struct mask *m, struct span value)
{
	AUTO(buf_done) struct buf form = BUF(FORM_SIZE_MAX);

	add_needle(m, value);
	add_json(m, value, &form);
	add_escaped(m, value, &form);
	add_hex(m, value, &form);
	for (size_t offset = 0; offset < 3; offset++)
		add_base64(m, value, &form, offset);
	explicit_bzero(form.data, form.capacity);
}

static void make_tables(struct mask *m)
{
	m->window = SIZE_MAX;
	for (size_t i = 0; i < m->count; i++) {
		m->window = m->needles[i].size < m->window ? m->needles[i].size : m->window;
		m->size_max = m->needles[i].size > m->size_max ? m->needles[i].size : m->size_max;
	}
	for (size_t i = 0; i < TABLE_SIZE; i++)
		m->shift[i] = (uint16_t)(m->window - BLOCK + 1);
	for (size_t i = 0; i < m->count; i++) {
		struct needle *n = &m->needles[i];

		for (size_t at = BLOCK; at <= m->window; at++) {
			unsigned hash = block_hash(n->data + at - BLOCK);

			if (m->window - at < m->shift[hash])
				m->shift[hash] = (uint16_t)(m->window - at);
			if (at == m->window) {
				n->next = m->by_block[hash];
				m->by_block[hash] = n;
			}
		}
	}
}

struct mask *mask_new(const char *const *values, size_t count)
{
	struct mask *m = memory_new(sizeof(*m));

	m->needles = memory_array(count * FORMS_MAX + 1, sizeof(*m->needles));
	for (size_t i = 0; i < count; i++)
		if (strlen(values[i]) >= MASK_VALUE_MIN)
			add_forms(m, span_of(values[i]));
	if (m->count > 0)
		make_tables(m);
	return m;
}

void mask_free(struct mask *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->count; i++) {
		explicit_bzero(m->needles[i].data, m->needles[i].size);
		free(m->needles[i].data);
	}
	free(m->needles);
	free(m);
}

/* The size of the longest value at this place, or 0. */
static size_t match_needles(const struct needle *n, const char *at, size_t size)
{
	size_t longest = 0;

	for (; n; n = n->next)
		if (n->size <= size && n->size > longest && memcmp(at, n->data, n->size) == 0)
			longest = n->size;
	return longest;
}

void mask_bytes(const struct mask *m, char *data, size_t size)
{
	size_t at = m->window;

	if (m->count == 0)
		return;
	/* `at` is the end of the window. What overlaps a found value is destroyed with it. */
	while (at <= size) {
		unsigned hash = block_hash(data + at - BLOCK);
		size_t begin = at - m->window, found;

		if (m->shift[hash] > 0) {
			at += m->shift[hash];
			continue;
		}
		found = match_needles(m->by_block[hash], data + begin, size - begin);
		if (found > 0)
			memset(data + begin, '*', found);
		at += found > 0 ? found : 1;
	}
}

size_t mask_reach(const struct mask *m)
{
	return m->count > 0 ? m->size_max - 1 : 0;
}

static bool begins_value(const struct mask *m, struct span tail)
{
	for (size_t i = 0; i < m->count; i++)
		if (m->needles[i].size > tail.size &&
		    memcmp(m->needles[i].data, tail.data, tail.size) == 0)
			return true;
	return false;
}

size_t mask_begun(const struct mask *m, struct span data)
{
	size_t size = mask_reach(m) < data.size ? mask_reach(m) : data.size;

	while (size >= MASK_BEGUN_MIN &&
	       !begins_value(m, (struct span){data.data + data.size - size, size}))
		size--;
	return size >= MASK_BEGUN_MIN ? size : 0;
}
