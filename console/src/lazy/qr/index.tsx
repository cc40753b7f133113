// SPDX-License-Identifier: Apache-2.0
// lazy/qr: the only user of uqr. A text as a QR code, dark on light in both themes, because cameras expect it.
import { encode } from "uqr";
import "./qr.css";

export interface QrProps {
  text: string;
  label: string;
}

/** One path of unit squares; runs in a row are one rectangle. */
function pathOf(rows: readonly (readonly boolean[])[]): string {
  const parts: string[] = [];
  rows.forEach((row, y) => {
    for (let x = 0; x < row.length; x++) {
      if (!row[x]) continue;
      const from = x;
      while (row[x + 1]) x++;
      parts.push(`M${from} ${y}h${x + 1 - from}v1H${from}z`);
    }
  });
  return parts.join("");
}

export default function QrCode({ text, label }: QrProps) {
  // The standard asks for four light modules around the code.
  const code = encode(text, { ecc: "M", border: 4 });
  return (
    <svg class="qr" role="img" aria-label={label} viewBox={`0 0 ${code.size} ${code.size}`} shape-rendering="crispEdges">
      <path class="qr-light" d={`M0 0h${code.size}v${code.size}H0z`} />
      <path class="qr-dark" d={pathOf(code.data)} />
    </svg>
  );
}
