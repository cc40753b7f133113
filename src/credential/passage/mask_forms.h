/* SPDX-License-Identifier: Apache-2.0 */
/* credential/passage/mask_forms.h — how servers write a value that they repeat. Private to this
 * folder. Pure. */
#pragma once

#include "base/bytes.h"

/* Calls for the value as it is, and for each of its forms; some come more than once. The texts are
 * the callee's until it returns, and are wiped then. */
void mask_forms_list(struct span value, void (*on_form)(void *context, struct span form),
                     void *context);
