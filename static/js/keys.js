"use strict";

/* Single keys. What they do stands in the page (data-key on a link or button, data-go on a link
   that follows "g"), so that the sheet, the page and this file cannot differ. Off in fields, in
   dialogs, with a modifier held, and when the reader turned them off. */

(() => {
  if (document.documentElement.dataset.keys === "off") return;
  let waitsForPlace = 0;

  const isTyping = (target) =>
    target.closest("input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]");

  // what is on its way out is not there any more
  const isShown = (element) =>
    element && element.getClientRects().length > 0 && !element.closest(".htmx-request");

  const press = (selector) => {
    const found = [...document.querySelectorAll(selector)].find(
      (one) => isShown(one) || one.hasAttribute("data-go"),
    );
    if (found) found.click();
    return Boolean(found);
  };

  const standAt = (row) => {
    row.classList.add("is-at");
    const link = row.querySelector("[data-row-link]") ?? row.querySelector("a");
    link?.focus({ preventScroll: true });
    return link;
  };

  // An answer that was on its way replaces the rows: whoever stands at one goes on standing there.
  // Its link has the focus as soon as it is there; settling then sets the row's classes anew.
  let left = null;
  document.addEventListener("htmx:beforeSwap", (event) => {
    left = event.detail.target.querySelector("[data-walk] > .is-at[id]")?.id ?? left;
  });
  document.addEventListener("htmx:afterSwap", () => {
    const row = left && document.getElementById(left);
    if (row && document.activeElement === document.body) standAt(row);
  });
  document.addEventListener("htmx:afterSettle", () => {
    const row = left && document.getElementById(left);
    left = null;
    if (row && !document.querySelector("[data-walk] > .is-at")) standAt(row);
  });

  // Rows and steps: j and k walk along [data-walk], o or Enter opens the first link of a row.
  const walk = (by) => {
    const rows = [...document.querySelectorAll("[data-walk] > *")].filter(isShown);
    if (!rows.length) return;
    const at = rows.findIndex((row) => row.classList.contains("is-at"));
    const next = rows[Math.min(Math.max(at + by, 0), rows.length - 1)];
    rows[at]?.classList.remove("is-at");
    next.scrollIntoView({ block: "nearest" });
    const link = standAt(next);
    // <ol data-walk="opens">: what is walked to opens beside the list
    if (next.parentElement.dataset.walk === "opens") link?.click();
  };

  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (!(event.target instanceof Element)) return;
    if (isTyping(event.target)) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    if (document.querySelector("dialog[open]")) return;
    if (Date.now() < waitsForPlace) {
      waitsForPlace = 0;
      if (press(`[data-go="${CSS.escape(event.key)}"]`)) event.preventDefault();
      return;
    }
    switch (event.key) {
      case "g":
        waitsForPlace = Date.now() + 1500;
        return;
      case "j":
        walk(1);
        return;
      case "k":
        walk(-1);
        return;
      case "/": {
        const search = document.querySelector("[data-search]");
        if (!search) return;
        search.focus();
        search.select();
        break;
      }
      case "Shift":
        return;
      default:
        if (!press(`[data-key="${CSS.escape(event.key)}"]`)) return;
    }
    event.preventDefault();
  });
})();
