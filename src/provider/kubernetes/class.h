/* SPDX-License-Identifier: Apache-2.0 */
/* provider/kubernetes/class.h — which isolation a RuntimeClass gives. Private to provider/.
 *
 * A class's name is the operator's choice, so its handler must be of the program that the name
 * promises. */
#pragma once

#include "base/error.h"

/* By the name of a RuntimeClass; one that is not known, or none, is "namespaces". */
const char *kubernetes_isolation_of(const char *runtime_class);
/* ERROR_UNAVAILABLE when the class has not the handler that its name promises. */
MUST_CHECK int kubernetes_check_handler(const char *runtime_class, const char *handler,
                                        struct error *err);
