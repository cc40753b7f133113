// SPDX-License-Identifier: Apache-2.0
// lazy/editor: the only user of CodeMirror. Languages are chunks of their own.
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { bracketMatching, HighlightStyle, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { Compartment, EditorState, type Extension } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, highlightSpecialChars, keymap, lineNumbers, placeholder } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useRef } from "preact/hooks";
import { styleNonce } from "../../api/nonce";
import "./editor.css";
import { loadLanguage } from "./languages";

export interface EditorProps {
  label: string;
  /** The text at first, and again when `docKey` changes. */
  text: string;
  docKey?: string;
  /** A file's name, or a language such as "python". */
  language?: string;
  isReadOnly?: boolean;
  /** Grows with its text instead of filling its place. */
  isFit?: boolean;
  hasLineNumbers?: boolean;
  placeholder?: string;
  line?: number;
  onChange?: (text: string) => void;
  /** Ctrl-Enter. */
  onRun?: () => void;
  /** Ctrl-S. */
  onSave?: () => void;
  hasFocus?: boolean;
}

const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.modifier], class: "hl-keyword" },
  { tag: [tags.string, tags.special(tags.string), tags.regexp], class: "hl-string" },
  { tag: [tags.comment, tags.meta], class: "hl-comment" },
  { tag: [tags.number, tags.bool, tags.null, tags.atom], class: "hl-number" },
  { tag: [tags.function(tags.variableName), tags.function(tags.propertyName), tags.heading], class: "hl-function" },
  { tag: [tags.typeName, tags.className, tags.tagName, tags.attributeName], class: "hl-type" },
]);

function extensionsOf(props: EditorProps, latest: { current: EditorProps }, language: Compartment): Extension[] {
  const run = (act: "onRun" | "onSave") => (): boolean => {
    latest.current[act]?.();
    return latest.current[act] !== undefined;
  };
  return [
    EditorView.cspNonce.of(styleNonce()),
    keymap.of([{ key: "Mod-Enter", run: run("onRun") }, { key: "Mod-s", run: run("onSave"), preventDefault: true }]),
    props.hasLineNumbers === false ? [] : lineNumbers(),
    highlightSpecialChars(), history(), drawSelection(), highlightActiveLine(), highlightSelectionMatches(), indentOnInput(), bracketMatching(), search({ top: true }),
    indentUnit.of("    "),
    props.placeholder ? placeholder(props.placeholder) : [],
    // Escape, then Tab, leaves the editor.
    keymap.of([...defaultKeymap, ...historyKeymap, ...searchKeymap, indentWithTab]),
    syntaxHighlighting(colours),
    language.of([]),
    EditorState.readOnly.of(props.isReadOnly ?? false),
    EditorView.editable.of(!props.isReadOnly),
    EditorView.contentAttributes.of({ "aria-label": props.label, tabindex: "0" }),
    EditorView.updateListener.of((u) => u.docChanged && latest.current.onChange?.(u.state.doc.toString())),
  ];
}

export default function Editor(props: EditorProps) {
  const box = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const latest = useRef(props);
  latest.current = props;
  useEffect(() => {
    if (!box.current) return;
    const language = new Compartment();
    const editor = new EditorView({ parent: box.current, state: EditorState.create({ doc: props.text, extensions: extensionsOf(props, latest, language) }) });
    view.current = editor;
    let isGone = false;
    void loadLanguage(props.language ?? "").then((found) => !isGone && found && editor.dispatch({ effects: language.reconfigure(found) }));
    if (props.hasFocus) editor.focus();
    return () => {
      isGone = true;
      editor.destroy();
    };
  }, [props.docKey, props.language, props.isReadOnly]);
  useEffect(() => {
    const editor = view.current;
    if (!editor || !props.line || props.line > editor.state.doc.lines) return;
    const at = editor.state.doc.line(props.line).from;
    editor.dispatch({ selection: { anchor: at }, effects: EditorView.scrollIntoView(at, { y: "center" }) });
  }, [props.line, props.docKey]);
  return <div class={`editor${props.isFit ? " fit" : ""}`} ref={box} />;
}
