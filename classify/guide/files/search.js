// Searches the documentation in the browser. The index is loaded when the box is entered first.
"use strict";

const box = document.querySelector(".search");
const input = document.getElementById("q");
const hits = document.getElementById("hits");
const most = 20;
let index;

box.hidden = false;

async function load() {
  index ??= fetch(box.dataset.root + "search.json").then((answer) => answer.json());
  return index;
}

// score is how well a section fits: every word has to be in it, and one in its title counts more.
function score(section, words) {
  const title = section.t.toLowerCase();
  const text = section.x.toLowerCase();
  let sum = 0;
  for (const word of words) {
    if (title.includes(word)) sum += title.endsWith(word) ? 20 : 10;
    else if (text.includes(word)) sum += 1;
    else return 0;
  }
  return sum;
}

// around is the text beside a word's first place.
function around(text, word) {
  const at = Math.max(0, text.toLowerCase().indexOf(word) - 60);
  return (at > 0 ? "… " : "") + text.slice(at, at + 180) + (at + 180 < text.length ? " …" : "");
}

function line(section, words) {
  const item = document.createElement("li");
  const link = document.createElement("a");
  const beside = document.createElement("small");
  link.href = box.dataset.root + section.a;
  link.textContent = section.t;
  beside.textContent = around(section.x, words.find((word) => section.x.toLowerCase().includes(word)) ?? "");
  item.append(link, beside);
  return item;
}

function say(text) {
  const item = document.createElement("li");
  item.textContent = text;
  hits.replaceChildren(item);
}

async function search() {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return hits.replaceChildren();
  let all;
  try {
    all = await load();
  } catch {
    index = undefined;
    return say("The index of the documentation could not be loaded.");
  }
  const found = all.map((section) => [score(section, words), section]).filter(([n]) => n > 0);
  found.sort(([a], [b]) => b - a);
  if (found.length === 0) return say("Nothing in the documentation has all of these words.");
  hits.replaceChildren(...found.slice(0, most).map(([, section]) => line(section, words)));
}

input.addEventListener("focus", () => load().catch(() => { index = undefined; }), { once: true });
input.addEventListener("input", search);
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && document.activeElement !== input) {
    event.preventDefault();
    input.focus();
  }
  if (event.key === "Escape") hits.replaceChildren();
});
