// Times of the operator's view in the browser's zone, and what has changed since without a reload. The page is complete without it.
const moment = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const minute = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const pattern = /(\d{4}-\d\d-\d\d) (\d\d:\d\d)(:\d\d)? UTC/g;
const interval = 15000;

// The original text is shown on hover.
function localize(root) {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const nodes = [];
  while (walker.nextNode()) if (walker.currentNode.data.search(pattern) >= 0) nodes.push(walker.currentNode);
  for (const node of nodes) {
    const element = node.parentElement;
    if (element.closest("svg, script, textarea")) continue;
    element.title ||= node.data.trim();
    node.data = node.data.replace(pattern, (_, day, time, second) => (second ? moment : minute).format(new Date(`${day}T${time}${second ?? ""}Z`)));
  }
}

// Somebody who reads, writes or is about to press a button is not disturbed.
function isInUse() {
  const main = document.querySelector("main");
  const focus = document.activeElement;
  return document.hidden || main.querySelector("details[open]") || (focus !== main && main.contains(focus)) || !getSelection().isCollapsed;
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
setInterval(() => refresh().catch(() => {}), interval);
