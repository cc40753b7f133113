/* SPDX-License-Identifier: Apache-2.0 */
/* Aho and Corasick's search: a trie of what is searched for, in which each node knows the longest
 * other one that its text ends with. So a byte takes the same time whatever came before, and the
 * search goes on where the last piece of a stream ended. At the root Wu and Manber's table says how
 * far no value can begin. */
#include "credential/passage/mask.h"

#include <stdlib.h>
#include <string.h>

#include "credential/passage/mask_forms.h"

#define TABLE_BITS 12
#define TABLE_SIZE (1u << TABLE_BITS)
#define BLOCK 3
#define KEY_MAX 96 /* of a text that is searched for; the rest is compared from there on */
#define ROOT 0
#define NONE UINT32_MAX

struct mask_node {
	uint32_t parent, ending; /* the longest other node that this text ends with */
	uint32_t longs;          /* texts that go on here, or NONE */
	uint16_t depth;
	uint16_t found; /* size of the longest text that ends here, or 0 */
	uint8_t byte;
};

/* A text that is longer than KEY_MAX. */
struct long_text {
	char *data;
	size_t size;
	uint32_t next; /* with the same key */
};

struct mask {
	struct mask_node *nodes;
	size_t count, capacity;
	uint32_t *children; /* by hash of parent and byte: a node, or ROOT = none */
	size_t children_size;
	struct long_text *longs;
	size_t long_count, long_capacity;
	size_t window; /* size of the shortest text */
	size_t key_size_max;
	uint16_t shift[TABLE_SIZE];
};

static unsigned block_hash(const char *at)
{
	uint32_t block = (uint32_t)(unsigned char)at[0] | (uint32_t)(unsigned char)at[1] << 8 |
	                 (uint32_t)(unsigned char)at[2] << 16;

	return (block * UINT32_C(2654435761)) >> (32 - TABLE_BITS);
}

/* Where the child is, or has its place. */
static uint32_t *find_child(const struct mask *m, uint32_t parent, uint8_t byte)
{
	uint64_t key = (uint64_t)parent << 8 | byte;
	size_t at = (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (m->children_size - 1);

	while (m->children[at] != ROOT && (m->nodes[m->children[at]].parent != parent ||
	                                   m->nodes[m->children[at]].byte != byte))
		at = (at + 1) & (m->children_size - 1);
	return &m->children[at];
}

static void grow_children(struct mask *m)
{
	m->children_size = m->children_size ? m->children_size * 2 : 1024;
	free(m->children);
	m->children = memory_array(m->children_size, sizeof(*m->children));
	for (uint32_t i = 1; i < m->count; i++)
		*find_child(m, m->nodes[i].parent, m->nodes[i].byte) = i;
}

static uint32_t add_node(struct mask *m, uint32_t parent, uint8_t byte)
{
	uint32_t *place, added = (uint32_t)m->count;

	if (m->count * 2 >= m->children_size)
		grow_children(m);
	place = find_child(m, parent, byte);
	if (*place != ROOT)
		return *place;
	m->nodes = memory_grow(m->nodes, m->count, &m->capacity, sizeof(*m->nodes));
	m->nodes[m->count++] = (struct mask_node){.parent = parent,
	                                          .longs = NONE,
	                                          .depth = (uint16_t)(m->nodes[parent].depth + 1),
	                                          .byte = byte};
	*place = added;
	return added;
}

static void add_long(struct mask *m, struct mask_node *key, struct span text)
{
	struct long_text *added;

	for (uint32_t i = key->longs; i != NONE; i = m->longs[i].next)
		if (span_equals(text, (struct span){m->longs[i].data, m->longs[i].size}))
			return;
	m->longs = memory_grow(m->longs, m->long_count, &m->long_capacity, sizeof(*m->longs));
	added = &m->longs[m->long_count];
	*added = (struct long_text){memory_new(text.size), text.size, key->longs};
	memcpy(added->data, text.data, text.size);
	key->longs = (uint32_t)m->long_count++;
}

static void add_text(void *context, struct span text)
{
	struct mask *m = context;
	size_t size = text.size < KEY_MAX ? text.size : KEY_MAX;
	uint32_t at = ROOT;

	if (text.size < MASK_VALUE_MIN)
		return;
	for (size_t i = 0; i < size; i++)
		at = add_node(m, at, (uint8_t)text.data[i]);
	m->nodes[at].found = (uint16_t)size;
	m->window = size < m->window ? size : m->window;
	m->key_size_max = size > m->key_size_max ? size : m->key_size_max;
	if (text.size > size)
		add_long(m, &m->nodes[at], text);
}

/* The longest node that ends with this node's text and the byte. */
static uint32_t next_node(const struct mask *m, uint32_t at, uint8_t byte)
{
	uint32_t child;

	while ((child = *find_child(m, at, byte)) == ROOT && at != ROOT)
		at = m->nodes[at].ending;
	return child;
}

/* The nodes of each depth, after those of smaller ones: `ending` is one of those. */
static void link_endings(struct mask *m)
{
	uint32_t *order = memory_array(m->count, sizeof(*order));
	size_t begins[KEY_MAX + 2] = {0};

	for (size_t i = 0; i < m->count; i++)
		begins[m->nodes[i].depth + 1]++;
	for (size_t depth = 1; depth < COUNT_OF(begins); depth++)
		begins[depth] += begins[depth - 1];
	for (uint32_t i = 0; i < m->count; i++)
		order[begins[m->nodes[i].depth]++] = i;
	for (size_t i = 1; i < m->count; i++) {
		struct mask_node *n = &m->nodes[order[i]];

		if (n->depth > 1)
			n->ending = next_node(m, m->nodes[n->parent].ending, n->byte);
		if (n->found == 0)
			n->found = m->nodes[n->ending].found;
	}
	free(order);
}

/* The table is about the first `window` bytes of each text: nodes of no greater depth. */
static void make_shifts(struct mask *m)
{
	char block[BLOCK];

	for (size_t i = 0; i < TABLE_SIZE; i++)
		m->shift[i] = (uint16_t)(m->window - BLOCK + 1);
	for (size_t i = 1; i < m->count; i++) {
		const struct mask_node *n = &m->nodes[i], *before, *first;
		uint16_t *shift;

		if (n->depth < BLOCK || n->depth > m->window)
			continue;
		before = &m->nodes[n->parent];
		first = &m->nodes[before->parent];
		block[0] = (char)first->byte;
		block[1] = (char)before->byte;
		block[2] = (char)n->byte;
		shift = &m->shift[block_hash(block)];
		if (m->window - n->depth < *shift)
			*shift = (uint16_t)(m->window - n->depth);
	}
}

struct mask *mask_new(const char *const *values, size_t count)
{
	struct mask *m = memory_new(sizeof(*m));

	m->window = KEY_MAX;
	m->nodes = memory_grow(NULL, 0, &m->capacity, sizeof(*m->nodes));
	m->nodes[m->count++] = (struct mask_node){.longs = NONE};
	for (size_t i = 0; i < count; i++)
		if (strlen(values[i]) >= MASK_VALUE_MIN)
			mask_forms_list(span_of(values[i]), add_text, m);
	if (m->count > 1) {
		link_endings(m);
		make_shifts(m);
	}
	return m;
}

void mask_free(struct mask *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->long_count; i++) {
		explicit_bzero(m->longs[i].data, m->longs[i].size);
		free(m->longs[i].data);
	}
	explicit_bzero(m->nodes, m->capacity * sizeof(*m->nodes));
	free(m->longs);
	free(m->nodes);
	free(m->children);
	free(m);
}

/* A text that goes on with the byte, and is the same up to there. */
static uint32_t find_long(const struct mask *m, uint32_t from, size_t size, char byte)
{
	const char *same = m->longs[from].data;

	for (uint32_t i = from; i != NONE; i = m->longs[i].next)
		if (m->longs[i].size > size && m->longs[i].data[size] == byte &&
		    (i == from || memcmp(m->longs[i].data, same, size) == 0))
			return i;
	return NONE;
}

/* Whether the byte goes on with a long text of which all before was found. */
static bool follow_long(const struct mask *m, struct mask_stream *s, char byte)
{
	uint32_t at = s->long_size > 0 ? find_long(m, s->long_text, s->long_size, byte) : NONE;

	s->long_text = at;
	s->long_size = at == NONE ? 0 : s->long_size + 1;
	return at != NONE;
}

/* The last `count` bytes up to this one, as far as they are there. */
static void overwrite_bytes(const struct mask_piece *p, size_t at, size_t count)
{
	for (size_t i = at + 1; i > 0 && count > 0; i--) {
		if (p->kinds && p->kinds[i - 1] != p->kind)
			continue;
		p->data[i - 1] = '*';
		count--;
	}
}

static bool take_byte(const struct mask *m, struct mask_stream *s, const struct mask_piece *p,
                      size_t at)
{
	char byte = p->data[at];
	bool is_of_long = follow_long(m, s, byte);
	const struct mask_node *n;

	s->node = next_node(m, s->node, (uint8_t)byte);
	n = &m->nodes[s->node];
	s->clear++;
	if (n->longs != NONE && s->long_size == 0) {
		s->long_text = n->longs;
		s->long_size = KEY_MAX;
	}
	if (n->found == 0 && !is_of_long)
		return false;
	s->clear = 0;
	overwrite_bytes(p, at, n->found > 0 ? n->found : 1);
	return n->found > 0;
}

/* How many bytes no value can begin at. */
static size_t find_shift(const struct mask *m, const struct mask_stream *s,
                         const struct mask_piece *p, size_t at)
{
	if (s->node != ROOT || s->long_size > 0 || p->kinds || at + m->window > p->size)
		return 0;
	return m->shift[block_hash(p->data + at + m->window - BLOCK)];
}

bool mask_next(const struct mask *m, struct mask_stream *s, const struct mask_piece *p)
{
	bool is_found = false;
	size_t at = p->known;

	while (m->count > 1 && at < p->size) {
		size_t shift = find_shift(m, s, p, at);

		s->clear += shift;
		at += shift;
		if (shift > 0)
			continue;
		if (!p->kinds || p->kinds[at] == p->kind)
			is_found = take_byte(m, s, p, at) || is_found;
		at++;
	}
	return is_found;
}

void mask_bytes(const struct mask *m, char *data, size_t size)
{
	struct mask_stream s = {0};

	(void)mask_next(m, &s, &(struct mask_piece){.data = data, .size = size});
}

size_t mask_reach(const struct mask *m)
{
	return m->count > 1 ? m->key_size_max - 1 : 0;
}

size_t mask_begun(const struct mask *m, const struct mask_stream *s)
{
	size_t size = m->nodes[s->node].depth;

	/* What was found is masked already. */
	size = size < s->clear ? size : s->clear;
	return size >= MASK_BEGUN_MIN ? size : 0;
}
