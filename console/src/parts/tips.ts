// SPDX-License-Identifier: Apache-2.0
// tips.ts: tooltips: the text of data-tip on whatever is pointed at or has the focus. Escape hides it; it can be pointed at and copied.

const DELAY_MS = 300;
const GAP = 6;

function placeTip(tip: HTMLElement, target: Element): void {
  const at = target.getBoundingClientRect();
  const box = tip.getBoundingClientRect();
  const above = at.top - box.height - GAP;
  tip.style.top = `${above > 4 ? above : at.bottom + GAP}px`;
  tip.style.left = `${Math.min(Math.max(4, at.left + at.width / 2 - box.width / 2), innerWidth - box.width - 4)}px`;
}

export function startTips(): void {
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.id = "tip";
  tip.popover = "manual";
  tip.setAttribute("role", "tooltip");
  let timer: ReturnType<typeof setTimeout> | undefined;
  let target: Element | null = null;
  const hide = (): void => {
    clearTimeout(timer);
    target?.removeAttribute("aria-describedby");
    target = null;
    if (tip.isConnected) {
      tip.hidePopover();
      tip.remove();
    }
  };
  const show = (element: Element): void => {
    const text = element.getAttribute("data-tip");
    if (!text || !element.isConnected) return;
    hide();
    target = element;
    tip.textContent = text;
    // A dialog that is open lies above everything outside of it; elsewhere the tip belongs to a landmark.
    (element.closest("dialog") ?? element.closest("main, nav, header") ?? document.body).append(tip);
    tip.showPopover();
    placeTip(tip, element);
    if (!element.hasAttribute("aria-describedby")) element.setAttribute("aria-describedby", "tip");
  };
  document.addEventListener("pointerover", (e) => {
    const element = (e.target as Element).closest?.("[data-tip], .tip");
    if (element === tip || (element && element === target)) return clearTimeout(timer);
    clearTimeout(timer);
    if (element && e.pointerType !== "touch") timer = setTimeout(() => show(element), DELAY_MS);
    else if (target && !target.matches(":focus")) timer = setTimeout(hide, 100);
  });
  document.addEventListener("focusin", (e) => {
    const element = e.target as Element;
    hide();
    // After what moved the focus is done: a menu that opens may not open a tip inside of that.
    if (element.matches("[data-tip]:focus-visible")) timer = setTimeout(() => show(element), 0);
  });
  document.addEventListener("focusout", hide);
  document.addEventListener("pointerdown", hide, true);
  document.addEventListener("scroll", hide, true);
  document.addEventListener("keydown", (e) => e.key === "Escape" && hide(), true);
}
