/* SPDX-License-Identifier: Apache-2.0 */
/* words.h — cuts text into words: runs of letters, with apostrophes inside, in lower case. */
#ifndef WORDS_H
#define WORDS_H

#include "table.h"

/* Adds the words of one line, which is changed. Returns how many, or -1 without memory. */
long words_add(struct table *t, char *line);

#endif
