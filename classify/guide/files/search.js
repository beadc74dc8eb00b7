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

// having are the numbers of the sections whose text has a word, or one that it is a part of.
function having(word, words) {
  const out = new Set();
  for (const [known, steps] of Object.entries(words)) {
    let at = 0;
    if (known.includes(word)) steps.forEach((step) => out.add((at += step)));
  }
  return out;
}

// score is how well a section fits: every word has to be in it, and one in its title counts more.
function score(section, number, words) {
  const title = section.t.toLowerCase();
  let sum = 0;
  for (const [word, texts] of words) {
    if (title.includes(word)) sum += title.endsWith(word) ? 20 : 10;
    else if (texts.has(number)) sum += 1;
    else return 0;
  }
  return sum;
}

function line(section) {
  const item = document.createElement("li");
  const link = document.createElement("a");
  const beside = document.createElement("small");
  link.href = box.dataset.root + section.a;
  link.textContent = section.t;
  beside.textContent = section.b;
  item.append(link, beside);
  return item;
}

function say(text) {
  const item = document.createElement("li");
  item.textContent = text;
  hits.replaceChildren(item);
}

async function search() {
  const words = input.value.toLowerCase().split(/[^\p{L}\p{N}_]+/u).filter(Boolean);
  if (words.length === 0) return hits.replaceChildren();
  let all;
  try {
    all = await load();
  } catch {
    index = undefined;
    return say("The index of the documentation could not be loaded.");
  }
  const known = words.map((word) => [word, having(word, all.words)]);
  const found = all.sections.map((section, number) => [score(section, number, known), section]).filter(([n]) => n > 0);
  found.sort(([a], [b]) => b - a);
  if (found.length === 0) return say("Nothing in the documentation has all of these words.");
  hits.replaceChildren(...found.slice(0, most).map(([, section]) => line(section)));
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
