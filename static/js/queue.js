"use strict";

/* The queue with script: what a key chooses, one goes on typing; the list follows the desk. */

(() => {
  const focus = (field) => {
    field.focus();
    if (field.select) field.select();
  };

  // <label data-focuses="id">: after a choice by click or key one types on, at once. A label's
  // click is followed by one on its input; an arrow within the group clicks the input alone, and
  // stays there.
  let chooser = null;
  document.addEventListener("click", (event) => {
    if (event.target instanceof HTMLInputElement) {
      const field = chooser && document.getElementById(chooser.dataset.focuses);
      chooser = null;
      if (field) focus(field);
    } else {
      chooser = event.target.closest("label[data-focuses]");
    }
  });

  // <details data-focuses>: its field, as soon as it opens. Not on "toggle", which comes later: who
  // presses Enter at once means this form.
  document.addEventListener("click", (event) => {
    const asks = event.target.closest("details[data-focuses] > summary")?.parentElement;
    if (!asks || asks.open) return;
    event.preventDefault();
    asks.open = true;
    const field = asks.querySelector("input:not([type=hidden])");
    if (field) focus(field);
  });

  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    for (const asks of document.querySelectorAll("details.asks[open]")) asks.open = false;
  });

  const mark = (desk) => {
    const item = desk.querySelector("[data-episode]");
    for (const row of document.querySelectorAll(".queue-row")) {
      const isAt = Boolean(item) && row.id === `row-${item.dataset.episode}`;
      row.classList.toggle("is-at", isAt);
      row.querySelector("[data-row-link]").toggleAttribute("aria-current", isAt);
      if (isAt) row.scrollIntoView({ block: "nearest" });
    }
    document.querySelector(".queue").dataset.open = item ? "yes" : "no";
  };

  document.addEventListener("htmx:afterSettle", (event) => {
    const desk = document.getElementById("desk");
    if (event.target !== desk) return;
    for (const model of desk.querySelectorAll("template[data-replaces]")) {
      const row = document.getElementById(model.dataset.replaces);
      const changed = model.content.firstElementChild;
      model.remove();
      if (!row) continue;
      row.replaceWith(changed);
      htmx.process(changed);
    }
    mark(desk);
    // after a decision the field that was typed in is gone: go on from the item, by keys or ears
    if (document.activeElement === document.body) {
      desk.querySelector("h2")?.focus({ preventScroll: true });
    }
  });
})();
