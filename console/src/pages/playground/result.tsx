// SPDX-License-Identifier: Apache-2.0
// result.tsx: one result in the richest form that it has; the others are a choice away. HTML is shown in a frame without scripts and
// without an origin only.
import { useState } from "preact/hooks";
import type { CodeResult } from "../../api/generated";
import { CodeBlock } from "../../parts/copy";
import { Segmented } from "../../parts/field";
import { showHiddenLines } from "../../parts/safe";
import { playground as t } from "../../text/en";
import { tableOf, type TableData } from "./table_data";

const ROWS_MAX = 200;
const TEXT_MAX = 100_000;
type Form = "image" | "table" | "html" | "markdown" | "latex" | "json" | "pdf" | "text";

/** An <img> runs no script of an SVG. */
function imageOf(r: CodeResult): string | null {
  if (r.png) return `data:image/png;base64,${r.png.replace(/\s/g, "")}`;
  if (r.jpeg) return `data:image/jpeg;base64,${r.jpeg.replace(/\s/g, "")}`;
  return r.svg ? `data:image/svg+xml,${encodeURIComponent(r.svg)}` : null;
}

export function formsOf(r: CodeResult): Form[] {
  const has: Record<Form, boolean> = {
    image: imageOf(r) !== null, table: tableOf(r.data ?? r.json) !== null, html: Boolean(r.html), markdown: Boolean(r.markdown), latex: Boolean(r.latex),
    json: r.json !== undefined && r.json !== null, pdf: Boolean(r.pdf), text: Boolean(r.text),
  };
  return (Object.keys(has) as Form[]).filter((form) => has[form]);
}

export function ResultView({ result, name }: { result: CodeResult; name: string }) {
  const forms = formsOf(result);
  const [chosen, setChosen] = useState<Form | null>(null);
  const form = chosen ?? forms[0];
  if (!form) return null;
  return (
    <div class="result">
      {forms.length > 1 && <Segmented label={t.as} value={form} onChange={(value) => setChosen(value as Form)} choices={forms.map((f) => ({ value: f, label: t.kinds[f] ?? f }))} />}
      <FormView form={form} result={result} name={name} />
    </div>
  );
}

function FormView({ form, result, name }: { form: Form; result: CodeResult; name: string }) {
  if (form === "image") return <img class="result-image" src={imageOf(result) ?? ""} alt={result.text ? showHiddenLines(result.text.slice(0, 200)) : `${t.figure}, ${name}`} />;
  if (form === "table") return <DataTable table={tableOf(result.data ?? result.json)} name={name} />;
  if (form === "html") return <iframe class="result-frame" sandbox="" srcDoc={result.html} title={`${t.html}, ${name}`} />;
  if (form === "json") return <CodeBlock text={showHiddenLines(JSON.stringify(result.json, null, 2)).slice(0, TEXT_MAX)} label={`${t.kinds["json"]}, ${name}`} />;
  if (form === "pdf") return <a download="result.pdf" href={`data:application/pdf;base64,${result.pdf ?? ""}`}>{t.openPdf}</a>;
  const text = (form === "markdown" ? result.markdown : form === "latex" ? result.latex : result.text) ?? "";
  return <pre class="out">{showHiddenLines(text.slice(0, TEXT_MAX))}</pre>;
}

function DataTable({ table, name }: { table: TableData | null; name: string }) {
  if (!table) return null;
  return (
    <>
      <div class="result-table" tabIndex={0} role="region" aria-label={`${t.kinds["table"]}, ${name}`}>
        <table class="plain-table">
          <thead>
            <tr>
              {table.columns.map((column) => (
                <th scope="col" key={column}>
                  {showHiddenLines(column)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {table.rows.slice(0, ROWS_MAX).map((row, i) => (
              <tr key={i}>
                {row.map((cell, j) => (
                  <td key={j}>{showHiddenLines(cell)}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p class="meta">{t.rows(Math.min(ROWS_MAX, table.rows.length), table.rows.length)}</p>
    </>
  );
}
