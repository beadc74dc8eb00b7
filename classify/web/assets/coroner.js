// Copies, switches the colours, comes to the search box on "/", and renews what goes
// by: times, and pages that ask for it. The pages work without it.
"use strict";

const said = document.getElementById("said");

function showButtons() {
  for (const button of document.querySelectorAll(".script")) button.hidden = false;
}
showButtons();

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

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  event.preventDefault();
  const name = button.dataset.name ??= button.textContent;
  const done = await copyText(document.getElementById(button.dataset.copy));
  button.textContent = done ? "Copied" : "Press Ctrl-C";
  said.textContent = button.textContent;
  setTimeout(() => { button.textContent = name; }, 2000);
});

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

// says is a time before now in one unit, as the server writes it.
function says(ms) {
  const s = Math.floor(Math.abs(ms) / 1000), day = 86400;
  const text = s < 60 ? `${s} s` : s < 3600 ? `${Math.floor(s / 60)} min`
    : s < 2 * day ? `${Math.floor(s / 3600)} h` : `${Math.floor(s / day)} days`;
  return ms < 0 ? `in ${text}` : `${text} ago`;
}

// The server's clock counts, not the browser's.
let behind = 0;
function tellTimes() {
  for (const t of document.querySelectorAll("time.ago")) t.textContent = says(Date.now() + behind - Date.parse(t.dateTime));
}
setInterval(tellTimes, 10000);

const main = document.getElementById("main");

// busy says whether somebody is in the middle of something that a new page would undo.
function busy() {
  // Where a click with the mouse left it does not count, but for what is filled in: that is not
  // lost either while another window is looked at, in which time nothing here is focus-visible.
  const at = document.activeElement;
  return document.hidden || at !== main && main.contains(at) && at.matches("input, select, textarea, :focus-visible")
    || !getSelection().isCollapsed;
}

// doubt says of what is shown that it is of earlier: the server did not give it again.
function doubt() {
  const asof = document.getElementById("asof");
  if (!asof || asof.classList.contains("old")) return;
  asof.classList.add("old");
  asof.append(" – the server could not answer since: this is not the present state");
  said.textContent = asof.textContent;
}

// renew asks for the page again and puts it in place of what is shown; what was unfolded
// stays so.
async function renew() {
  if (busy()) return;
  try {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" }, signal: AbortSignal.timeout(20000) });
    const text = await answer.text();
    if (!answer.ok) { doubt(); return; }
    if (busy()) return;
    behind = Date.parse(answer.headers.get("Date")) - Date.now() || 0;
    const page = new DOMParser().parseFromString(text, "text/html"), fresh = page.getElementById("main");
    if (!fresh) return;
    const open = [...main.querySelectorAll("details")].map((d) => d.open);
    [...fresh.querySelectorAll("details")].forEach((d, i) => { d.open = open[i] ?? d.open; });
    if (!fresh.dataset.refresh) { location.reload(); return; }
    main.replaceChildren(...fresh.childNodes);
    document.title = page.title;
    showButtons();
    tellTimes();
  } catch { doubt(); /* the server is away: what is shown stays */ }
}
if (main.dataset.refresh) setInterval(renew, 1000 * main.dataset.refresh);

// What is typed into the search box is asked for, a moment after it was.
const box = document.getElementById("q"), hints = document.getElementById("hints"), usual = [...hints.children];
let waiting = 0;
box.addEventListener("input", () => {
  clearTimeout(waiting);
  const text = box.value.trim();
  if (text.length < 3) { hints.replaceChildren(...usual); return; }
  waiting = setTimeout(async () => {
    try {
      const answer = await fetch(`/suggest?q=${encodeURIComponent(text)}`);
      if (!answer.ok || box.value.trim() !== text) return;
      hints.replaceChildren(...(await answer.json()).map((name) => {
        const one = document.createElement("option");
        one.value = name;
        return one;
      }));
    } catch { /* the server is away */ }
  }, 150);
});
