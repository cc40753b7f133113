// SPDX-License-Identifier: Apache-2.0
// button.tsx: buttons and links that look like them. A button without text has a label, which is its tooltip as well.
import type { ComponentChildren, TargetedMouseEvent } from "preact";
import { Icon } from "./icons";

export interface ButtonProps {
  children?: ComponentChildren;
  icon?: string;
  /** Needed when there is no text. */
  label?: string;
  kind?: "primary" | "normal" | "quiet" | "danger";
  isSmall?: boolean;
  isBusy?: boolean;
  /** Why the button does nothing: it is disabled, and the tooltip says this. null: it is enabled. */
  disabledBecause?: string | null;
  isDisabled?: boolean;
  isPressed?: boolean;
  type?: "button" | "submit";
  class?: string;
  tip?: string;
  onClick?: (e: TargetedMouseEvent<HTMLButtonElement>) => void;
}

const classOf = (p: { kind?: string; isSmall?: boolean; children?: ComponentChildren; class?: string }): string =>
  ["button", p.kind ?? "normal", p.isSmall && "small", !p.children && "only-icon", p.class].filter(Boolean).join(" ");

export function Button(props: ButtonProps) {
  const why = props.disabledBecause;
  const off = props.isDisabled || Boolean(why);
  return (
    <button
      type={props.type ?? "button"}
      class={classOf(props)}
      aria-label={props.children ? undefined : props.label}
      aria-disabled={off || undefined}
      aria-busy={props.isBusy || undefined}
      aria-pressed={props.isPressed}
      data-tip={why ?? props.tip ?? (props.children ? undefined : props.label)}
      onClick={(e) => {
        if (off || props.isBusy) {
          e.preventDefault();
          e.stopPropagation();
        } else props.onClick?.(e);
      }}
    >
      {props.isBusy ? <span class="spinner" aria-hidden="true" /> : props.icon && <Icon name={props.icon} />}
      {props.children}
    </button>
  );
}

export function ButtonLink(props: { href: string; children?: ComponentChildren; icon?: string; label?: string; kind?: ButtonProps["kind"]; isSmall?: boolean; isNewTab?: boolean; download?: string | boolean }) {
  const outside = props.isNewTab ? { target: "_blank", rel: "noopener noreferrer" } : {};
  return (
    <a
      class={classOf(props)}
      href={props.href}
      aria-label={props.children ? undefined : props.label}
      data-tip={props.children ? undefined : props.label}
      download={props.download}
      {...outside}
    >
      {props.icon && <Icon name={props.icon} />}
      {props.children}
    </a>
  );
}
