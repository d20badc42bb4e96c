// Filters the rows of a page's table[data-filter], and of a folded one that continues it. The controls are made here, so
// that without scripts none is dead; what they say stands in the address's query, so that it can be shared and survives
// a reload.
//
// table: data-filter="rows' noun", data-head where only the rows' heads are searched, data-only="label of a check box",
//        data-facet-NAME="label of a choice", data-columns="label of a choice among the columns", one of which is then
//        shown, data-fine="classes of cells that are fine"
// row:   data-fine where the check box hides it, data-NAME="its value" for each choice
"use strict";
(() => {
  const tables = [...document.querySelectorAll("table[data-filter]")];
  const [table, ...folded] = tables;
  const place = document.querySelector("[data-controls]");
  const rows = tables.flatMap((one) => [...one.tBodies[0].rows]);
  // One row is seen at a glance.
  if (!place || rows.length < 2) return;
  const main = table.dataset;
  const texts = rows.map((row) => ("head" in main ? row.cells[0] : row).textContent.toLowerCase());
  const controls = new Map();
  const bar = make("form", { className: "filter" });
  bar.setAttribute("role", "search");

  function make(tag, properties, ...children) {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  }

  function add(name, control, label, after) {
    control.name = name;
    control.id = `filter-${name}`;
    const words = make("label", { htmlFor: control.id }, label);
    bar.append(make("span", {}, ...(after ? [control, words] : [words, control])));
    controls.set(name, control);
  }

  function choice(name, label, values) {
    if (values.length < 2) return;
    add(name, make("select", {}, new Option("all", ""), ...values.map((value) => new Option(value.replace(/\s+/g, " ")))), label);
  }

  add("q", make("input", { type: "search", autocomplete: "off", spellcheck: false }), `Filter ${main.filter}`);
  for (const key of Object.keys(main).filter((key) => key.startsWith("facet"))) {
    const name = key.slice(5).toLowerCase();
    choice(name, main[key], [...new Set(rows.map((row) => row.dataset[name]).filter(Boolean))].sort());
  }
  const heads = [...table.tHead.rows[0].cells].filter((head) => head.className !== "why").map((head) => head.textContent.trim());
  if (main.columns) choice("column", main.columns, heads.slice(1));
  if (main.only) add("only", make("input", { type: "checkbox", value: "1" }), main.only, true);
  const told = make("output", { className: "muted" });
  const clear = make("button", { type: "button", textContent: "Clear" });
  bar.append(told, clear);

  const value = (name) => {
    const control = controls.get(name);
    return !control ? "" : control.type !== "checkbox" ? control.value : control.checked ? control.value : "";
  };

  function isFine(row, column) {
    if (column < 1) return "fine" in row.dataset;
    const cell = row.cells[column];
    return !cell || !cell.className || (main.fine || "").split(" ").includes(cell.className);
  }

  let shownColumn = -1;
  function showColumn(column) {
    if (column === shownColumn) return;
    for (const row of table.rows) {
      for (let at = 1; at < heads.length; at++) row.cells[at].hidden = column > 0 && at !== column;
    }
    shownColumn = column;
  }

  function apply() {
    const words = value("q").toLowerCase().split(/\s+/).filter(Boolean);
    const facets = [...controls.keys()].filter((name) => !["q", "only", "column"].includes(name) && value(name));
    const column = value("column") ? heads.indexOf(value("column"), 1) : -1;
    let count = 0;
    if (main.columns) showColumn(column);
    for (const [number, row] of rows.entries()) {
      const fits =
        words.every((word) => texts[number].includes(word)) &&
        facets.every((name) => row.dataset[name] === value(name)) &&
        !(value("only") && isFine(row, column));
      row.hidden = !fits;
      count += fits;
    }
    told.textContent = `${count} of ${rows.length} ${main.filter}`;
    clear.disabled = ![...controls.keys()].some(value);
    for (const one of folded) one.closest("details").open = !clear.disabled;
  }

  function remember() {
    const query = new URLSearchParams(location.search);
    for (const name of controls.keys()) {
      if (value(name)) query.set(name, value(name));
      else query.delete(name);
    }
    const text = query.toString();
    history.replaceState(history.state, "", (text ? `?${text}` : location.pathname) + location.hash);
  }

  function restore() {
    const query = new URLSearchParams(location.search);
    for (const [name, control] of controls) {
      const said = query.get(name) || "";
      if (control.type === "checkbox") control.checked = said === "1";
      else control.value = said;
      // A choice that is none any more shows everything.
      if (control.selectedIndex === -1) control.value = "";
    }
    apply();
  }

  function changed() {
    apply();
    remember();
  }

  function reset() {
    for (const control of controls.values()) {
      if (control.type === "checkbox") control.checked = false;
      else control.value = "";
    }
    changed();
    controls.get("q").focus();
  }

  bar.addEventListener("input", changed);
  bar.addEventListener("submit", (event) => event.preventDefault());
  bar.addEventListener("keydown", (event) => {
    if (event.key === "Escape") reset();
  });
  clear.addEventListener("click", reset);
  addEventListener("popstate", restore);
  place.append(bar);
  restore();
})();
