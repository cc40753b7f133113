/* SPDX-License-Identifier: Apache-2.0 */
/* broker/chains.h — read-only layers, and who lies on them. Private to this folder.
 *
 *   DATA/snapshots/ID/{upper,chain,kept}   one layer: what a sandbox had on top when it was taken
 *   DATA/sandboxes/ID/chain                the layers below a sandbox's own files
 *   DATA/sandboxes/ID/origin               those that it began with, from its first snapshot on
 *
 * A chain is the ids of layers, the newest first; below the last one is the template. On disk it is
 * the text of a symbolic link: that comes to the disk as a whole and together with its name, so
 * that no sync is needed. No link: no layers. "kept" says that the layer is a snapshot that
 * somebody may still ask for; without it, it lives as long as a chain names it. A layer in no chain
 * and not kept is nobody's: it goes at once, or at the next start. */
#pragma once

#include <stdbool.h>

#include "base/id.h"
#include "base/map.h"
#include "broker/host.h"

#define CHAIN_MAX 64
#define CHAIN_LINK "chain"
#define ORIGIN_LINK "origin"
#define KEPT_LINK "kept"

struct chain {
	unsigned count;
	char ids[CHAIN_MAX][ID_SIZE + 1];
};

/* `path` is that of the link. Reading none gives an empty chain. */
MUST_CHECK int chain_write(int folder, const char *path, const struct chain *chain,
                           struct error *err);
MUST_CHECK int chain_read(int folder, const char *path, struct chain *ret, struct error *err);
/* In place of the one that is there, in one step. */
MUST_CHECK int chain_rewrite(int folder, const char *path, const struct chain *chain,
                             struct error *err);
/* Pure: the layer `from` and all below it are `merged` now. False when it is not in it. */
bool chain_replace(struct chain *chain, const char *from, const char *merged);
/* What ORIGIN_LINK of a sandbox that lies on this chain says, or is to say. */
#define CHAIN_TEXT_SIZE (CHAIN_MAX * (ID_SIZE + 1) + 1)
MUST_CHECK int chain_origin(int folder, const char *sandbox, const struct chain *chain,
                            char ret[CHAIN_TEXT_SIZE], struct error *err);
/* Pure: the link's text. */
MUST_CHECK int chain_parse(struct chain *ret, const char *text, struct error *err);
/* `top` and all of `below`. ERROR_LIMIT when that is too long. */
MUST_CHECK int chain_put(struct chain *ret, const char *top, const struct chain *below,
                         struct error *err);

/* NULL is an empty one. */
bool chain_equals(const struct chain *a, const struct chain *b);

struct chains {
	struct host *host;
	struct map layers; /* id -> struct layer */
	struct map
	        users; /* id of a sandbox, or of a job -> struct chain; empty ones are not in it */
	bool is_incomplete; /* a chain could not be read: what it names must not go */
};

void chains_init(struct chains *c, struct host *host);
void chains_close(struct chains *c);
/* At start: what the folders say. Throws layers away that are nobody's. */
MUST_CHECK int chains_adopt(struct chains *c, struct error *err);
/* NULL: it lies on its template. Valid until the next change. */
const struct chain *chains_of(const struct chains *c, const char *user);
/* Of something that is to begin with this snapshot. */
MUST_CHECK int chains_find(const struct chains *c, const char *snapshot, struct chain *ret,
                           struct error *err);
/* What a user began with: a snapshot, or a layer that it lies on and that is none any more; "" is
 * its template. */
MUST_CHECK int chains_find_origin(const struct chains *c, const char *user, const char *origin,
                                  struct chain *ret, struct error *err);
/* In place of what it has; NULL or empty: nothing. Copied. */
void chains_set(struct chains *c, const char *user, const struct chain *chain);
/* The same for what somebody has besides that. */
enum chain_role {
	CHAIN_ORIGIN,  /* what a sandbox began with, which a reset gives it again */
	CHAIN_MOUNTED, /* what a sandbox that runs has mounted, see flatten.h */
	CHAIN_MERGED,  /* what is being merged into a layer of that name */
	CHAIN_NOW,     /* what a review looks at */
	CHAIN_BASE,
	CHAIN_TRASHED, /* a snapshot in the trash, and what lies below it */
};
void chains_set_role(struct chains *c, const char *id, enum chain_role role,
                     const struct chain *chain);
const struct chain *chains_of_role(const struct chains *c, const char *id, enum chain_role role);
/* The first chain that is wanted: of a sandbox with files, or, `sandbox` being NULL, of what would
 * begin with a snapshot. False when none is. */
bool chains_search(const struct chains *c,
                   bool (*is_wanted)(void *context, const char *sandbox, const struct chain *chain),
                   void *context, struct chain *ret);
/* The layer `from`, with all below it, is the same as the layer `merged`, whose folder is whole:
 * every chain with it gets that instead, the sandboxes' where on_replace agrees. When none is left
 * that has it, `merged` goes. */
void chains_replace(struct chains *c, const char *from, const char *merged,
                    bool (*on_replace)(void *context, const char *sandbox, const struct chain *old),
                    void *context);
/* What a folder of a sandbox's files says, below `folder`, of the user `id`. */
MUST_CHECK int chains_read_user(struct chains *c, int folder, const char *name, const char *id,
                                struct error *err);
/* A sandbox's files are others than before: what their folder says. */
void chains_reread(struct chains *c, const char *sandbox);
/* The folder DATA/snapshots/ID is whole, and kept. */
MUST_CHECK int chains_add(struct chains *c, const char *snapshot, struct error *err);
/* It is no snapshot any more. Fine when it is none. */
MUST_CHECK int chains_remove(struct chains *c, const char *snapshot, struct error *err);
/* Calls back with each snapshot. */
void chains_each(const struct chains *c, void (*on_snapshot)(void *context, const char *id),
                 void *context);
