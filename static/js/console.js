"use strict";

/* What every page needs of script: menus that close, dialogs, toasts, copying, errors of htmx.
   Each works on attributes that can be searched for in templates; without script the page works
   too, so nothing here is the only way to anything. */

(() => {
  const root = document.documentElement;
  root.classList.add("has-script");

  // Menus are <details class="menu">: one open at a time, closed by Escape or a click elsewhere.
  const openMenus = () => document.querySelectorAll("details.menu[open]");

  document.addEventListener("click", (event) => {
    for (const menu of openMenus()) {
      if (!menu.contains(event.target)) menu.open = false;
    }
  });

  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    for (const menu of openMenus()) {
      menu.open = false;
      if (menu.contains(document.activeElement)) menu.querySelector("summary").focus();
    }
  });

  // <a href="/page/" data-opens="dialog-id">: the dialog if there is one, else the page.
  // <button data-copies="text">, <button data-closes>: the dialog or toast around it.
  document.addEventListener("click", (event) => {
    const opener = event.target.closest("[data-opens]");
    const dialog = opener && document.getElementById(opener.dataset.opens);
    if (dialog && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      dialog.showModal();
      return;
    }
    const copier = event.target.closest("[data-copies]");
    if (copier) {
      navigator.clipboard.writeText(copier.dataset.copies).then(() => say("Copied."));
      return;
    }
    const closer = event.target.closest("[data-closes]");
    // a link that closes its dialog leads somewhere only without one
    if (closer?.closest("dialog")) event.preventDefault();
    if (closer) closer.closest("dialog")?.close();
    if (closer) closer.closest(".toast")?.remove();
    // a click on the backdrop is one on the dialog itself
    if (event.target instanceof HTMLDialogElement) event.target.close();
  });

  // Forms that act at once when a field is chosen: <form data-sends-itself>.
  document.addEventListener("change", (event) => {
    const form = event.target.form;
    if (form && form.hasAttribute("data-sends-itself")) form.requestSubmit();
  });

  // Toasts go by themselves, but not while somebody reads or holds one, and never if they ask.
  const STAYS = 10000;

  const watch = (toast) => {
    if (toast.dataset.level === "error") return;
    let timer = setTimeout(() => toast.remove(), STAYS);
    for (const held of ["pointerenter", "focusin"]) {
      toast.addEventListener(held, () => clearTimeout(timer));
    }
    for (const left of ["pointerleave", "focusout"]) {
      toast.addEventListener(left, () => {
        clearTimeout(timer);
        timer = setTimeout(() => toast.remove(), STAYS);
      });
    }
  };

  const toasts = document.getElementById("toasts");

  const say = (text, level = "info") => {
    const model = document.getElementById("toast-model");
    const toast = model.content.firstElementChild.cloneNode(true);
    toast.dataset.level = level;
    toast.querySelector(".says").textContent = text;
    toasts.append(toast);
    watch(toast);
  };

  if (toasts) {
    toasts.querySelectorAll(".toast").forEach(watch);
    new MutationObserver((changes) => {
      for (const change of changes) {
        for (const node of change.addedNodes) {
          if (node instanceof HTMLElement && node.matches(".toast")) watch(node);
        }
      }
    }).observe(toasts, { childList: true });
  }

  document.addEventListener("htmx:responseError", (event) => {
    say(`The server answered with an error (${event.detail.xhr.status}). Try again.`, "error");
  });
  document.addEventListener("htmx:sendError", () => {
    say("The server cannot be reached. Nothing was changed.", "error");
  });

  // A server can close what it has dealt with: HX-Trigger: dialogDone.
  document.addEventListener("dialogDone", () => {
    document.querySelectorAll("dialog[open]").forEach((dialog) => dialog.close());
  });
})();
