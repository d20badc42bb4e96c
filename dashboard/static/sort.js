// Buttons in the heads of every table.sortable, which sortable.min.js sorts; the column stands in the address's query.
"use strict";
(() => {
  document.querySelectorAll("table.sortable").forEach((table, number) => {
    // Where the heads are out of sight, a button there would be, too.
    if (table.tBodies[0].rows.length < 2 || getComputedStyle(table.tHead).position === "absolute") return;
    const name = number ? `sort${number + 1}` : "sort";
    const heads = [...table.tHead.rows[0].cells];
    for (const head of heads.filter((head) => !head.classList.contains("no-sort"))) {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
    }
    table.addEventListener("sort-end", () => {
      const column = heads.findIndex((head) => head.hasAttribute("aria-sort"));
      const query = new URLSearchParams(location.search);
      query.set(name, `${column}${heads[column].getAttribute("aria-sort") === "descending" ? "d" : "a"}`);
      history.replaceState(history.state, "", `?${query}${location.hash}`);
    });
    const [, column, way] = /^(\d{1,3})([ad])$/.exec(new URLSearchParams(location.search).get(name) || "") || [];
    const button = heads[column] && heads[column].querySelector("button");
    if (!button) return;
    button.click();
    // The first click sorts one way, the second the other.
    const wanted = way === "d" ? "descending" : "ascending";
    if (heads[column].getAttribute("aria-sort") !== wanted) button.click();
  });
})();
