// A switch between the colours of the system, light ones and dark ones; the choice is kept on this machine.
"use strict";
// Fonts are loaded at once, not when the first text in them is drawn.
for (const name of ["Inter", "JetBrains Mono"]) document.fonts.load(`1em "${name}"`);
(() => {
  const GLYPHS = { system: "◐", light: "☀", dark: "☾" };
  const THEMES = Object.keys(GLYPHS);
  const KEY = "theme";

  function kept() {
    try {
      return localStorage.getItem(KEY);
    } catch {
      return null; // a browser that keeps nothing
    }
  }

  function keep(theme) {
    try {
      localStorage.setItem(KEY, theme);
    } catch {
      // it holds until the page is left
    }
  }

  function apply(theme) {
    if (theme === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
  }

  let now = THEMES.includes(kept()) ? kept() : "system";
  apply(now);
  addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    if (!button) return;
    const tell = () => {
      button.textContent = GLYPHS[now];
      button.title = `Theme: ${now}`;
      button.setAttribute("aria-label", button.title);
    };
    button.addEventListener("click", () => {
      now = THEMES[(THEMES.indexOf(now) + 1) % THEMES.length];
      apply(now);
      keep(now);
      tell();
    });
    tell();
    button.disabled = false;
  });
})();
// The menu closes when something else is clicked, and by Escape.
for (const type of ["click", "keydown"]) {
  addEventListener(type, (event) => {
    const menu = document.querySelector(".menu[open]");
    if (!menu || (type === "click" ? menu.contains(event.target) : event.key !== "Escape")) return;
    menu.open = false;
    if (type === "keydown") menu.querySelector("summary").focus();
  });
}
