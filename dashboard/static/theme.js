// A switch between the colours of the system, light ones and dark ones; the choice is kept on this machine.
"use strict";
// The font is loaded at once: it is not used on a page whose text was drawn before it came.
document.fonts.load("1em Inter");
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
