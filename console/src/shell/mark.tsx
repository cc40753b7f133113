// SPDX-License-Identifier: Apache-2.0
// mark.tsx: the product's sign: a ring with an opening.
export function Mark() {
  return (
    <svg class="mark" width="22" height="22" viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="7" />
      <circle class="mark-ring" cx="16" cy="16" r="8.5" />
      <circle class="mark-dot" cx="16" cy="16" r="2.6" />
    </svg>
  );
}
