/* SPDX-License-Identifier: Apache-2.0 */
/* provider/kubernetes/quantity.h — sizes as Kubernetes writes them: "5Gi", "1500M", "1e9". Private
 * to provider/.
 *
 * Source: https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/ */
#pragma once

#include <stdint.h>

/* MiB, rounded up; 0 for a text that is no size, or too large for a volume. */
int64_t quantity_mb(const char *text);
