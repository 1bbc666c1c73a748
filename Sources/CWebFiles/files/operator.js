// Times of the operator's view in the browser's zone, and what has changed since without a reload. The page is complete without it.
const moment = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const minute = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
// Alone in its place: titles stay as they were written.
const pattern = /^\s*(\d{4}-\d\d-\d\d) (\d\d:\d\d)(:\d\d)? UTC\s*$/;
const interval = 15000;

// The original text is shown on hover.
function localize(root) {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    const found = pattern.exec(node.data);
    const date = found && new Date(`${found[1]}T${found[2]}${found[3] ?? ""}Z`);
    if (!date || Number.isNaN(date.getTime()) || node.parentElement.closest("svg, script, textarea")) continue;
    node.parentElement.title ||= node.data.trim();
    node.data = (found[3] ? moment : minute).format(date);
  }
}

// Somebody who reads, writes or is about to press a button is not disturbed.
function isInUse() {
  const main = document.querySelector("main");
  const focus = document.activeElement;
  const isScrolled = [...main.querySelectorAll(".table")].some((table) => table.scrollLeft !== 0);
  return document.hidden || isScrolled || main.querySelector("details[open], tbody tr:hover, form:hover") || (focus !== main && main.contains(focus)) || !getSelection().isCollapsed;
}

// As a document: the policy lets no script turn text into markup.
function load() {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("GET", location.href);
    request.responseType = "document";
    request.onload = () => resolve({ status: request.status, page: request.response });
    request.onerror = reject;
    request.send();
  });
}

async function refresh() {
  if (isInUse()) return;
  const { status, page } = await load();
  // The session has ended.
  if (status === 401 || status === 404) return location.reload();
  const fresh = [...(page?.querySelectorAll("main > section") ?? [])];
  if (status !== 200 || isInUse() || fresh.length === 0) return;
  localize(page);
  const old = document.querySelectorAll("main > section");
  if (fresh.length !== old.length) return location.reload();
  old.forEach((section, index) => section.textContent === fresh[index].textContent || section.replaceWith(document.importNode(fresh[index], true)));
}

localize(document.querySelector("main"));
// The result of a search stays as it is: each one reads many messages.
if (!location.search) setInterval(() => refresh().catch(() => {}), interval);
