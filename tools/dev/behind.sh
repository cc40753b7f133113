# SPDX-License-Identifier: Apache-2.0
# behind.sh FUNCTION — a part of ./dev check that runs behind something else; see behind_start.
set -euo pipefail

source tools/dev/screen.sh
source tools/dev/check.sh

BEHIND_PID=$$ # the session is this one
behind_share idle
"$@"
