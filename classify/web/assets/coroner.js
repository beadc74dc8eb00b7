// Copies, switches the colours, and comes to the search box on "/". The pages
// work without it.
"use strict";

const said = document.getElementById("said");

for (const button of document.querySelectorAll(".script")) button.hidden = false;

// copyText falls back to a selection where the clipboard is closed: pages over
// plain HTTP have none.
async function copyText(node) {
  try {
    await navigator.clipboard.writeText(node.textContent);
    return true;
  } catch {
    node.closest("details").open = true;
    const range = document.createRange();
    range.selectNodeContents(node);
    const selection = getSelection();
    selection.removeAllRanges();
    selection.addRange(range);
    return document.execCommand("copy");
  }
}

for (const button of document.querySelectorAll("[data-copy]")) {
  const name = button.textContent;
  button.addEventListener("click", async (event) => {
    event.preventDefault();
    const done = await copyText(document.getElementById(button.dataset.copy));
    button.textContent = done ? "Copied" : "Press Ctrl-C";
    said.textContent = button.textContent;
    setTimeout(() => { button.textContent = name; }, 2000);
  });
}

const root = document.documentElement, theme = document.getElementById("theme");
const dark = () => (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";

function show() {
  theme.textContent = dark() ? "Light" : "Dark";
  theme.setAttribute("aria-label", dark() ? "Switch to light colours" : "Switch to dark colours");
}

try {
  const kept = localStorage.getItem("theme");
  if (kept === "dark" || kept === "light") root.dataset.theme = kept;
} catch { /* a browser that keeps nothing */ }
show();

theme.addEventListener("click", () => {
  root.dataset.theme = dark() ? "light" : "dark";
  try { localStorage.setItem("theme", root.dataset.theme); } catch { /* see above */ }
  show();
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
  event.preventDefault();
  document.getElementById("q").focus();
});
