// Search over devices, error texts and tests that ever failed; `/` opens it. What it looks through is loaded then.
"use strict";
(() => {
  const folder = new URL(".", document.currentScript.src);
  const top = new URL("..", folder);
  const SHOWN = 50;
  let entries;
  let dialog;

  function make(tag, properties, ...children) {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  }

  function load(then) {
    if (globalThis.searchIndex) return then();
    const script = make("script", { src: new URL("search-index.js", folder).href, onload: then });
    document.head.append(script);
  }

  function build() {
    document.head.append(make("link", { rel: "stylesheet", href: new URL("search.css", folder).href }));
    const input = make("input", { type: "text", autocomplete: "off", spellcheck: false, placeholder: "Devices, tests, error texts" });
    input.setAttribute("aria-label", "Search devices, tests and error texts");
    const told = make("output", { className: "muted" });
    const list = make("ul", {});
    dialog = make("dialog", { className: "search" }, input, told, list);
    dialog.setAttribute("aria-label", "Search");
    document.body.append(dialog);

    const find = () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      const found = words.length && entries ? entries.filter((entry) => words.every((word) => entry.text.includes(word))) : [];
      const row = ({ kind, name, path }) =>
        make("li", {}, make("a", { href: new URL(path, top).href }, make("bdi", { textContent: name })), make("span", { className: "muted", textContent: kind }));
      list.replaceChildren(...found.slice(0, SHOWN).map(row));
      const more = found.length > SHOWN ? `, the first ${SHOWN} are shown` : "";
      const left = globalThis.searchIndex?.more ? `; ${globalThis.searchIndex.more} more errors and tests are not looked through` : "";
      told.textContent = words.length && entries ? `${found.length} found${more}${left}` : "";
    };
    input.addEventListener("input", find);
    dialog.addEventListener("keydown", (event) => {
      const stops = [input, ...list.querySelectorAll("a")];
      const now = stops.indexOf(document.activeElement);
      if (event.key === "ArrowDown") stops[Math.min(now + 1, stops.length - 1)].focus();
      else if (event.key === "ArrowUp") stops[Math.max(now - 1, 0)].focus();
      else if (event.key === "Enter" && now === 0 && stops.length > 1) stops[1].click();
      else return;
      event.preventDefault();
    });
    dialog.addEventListener("click", (event) => {
      if (event.target === dialog) dialog.close();
    });
    load(() => {
      entries = globalThis.searchIndex.entries.map(([kind, name, path]) => ({ kind, name, path, text: name.toLowerCase() }));
      find();
    });
  }

  function open() {
    if (!dialog) build();
    dialog.showModal();
    dialog.querySelector("input").select();
  }

  const button = document.getElementById("search");
  if (button) Object.assign(button, { disabled: false, onclick: open });
  addEventListener("keydown", (event) => {
    const typing = event.target.closest?.("input, select, textarea, dialog");
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || typing) return;
    open();
    event.preventDefault();
  });
})();
