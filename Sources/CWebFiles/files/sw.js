// Shows notifications of one hub, whose pages are its scope. It keeps no copy of a page: an old worker never shows old news.
"use strict";
const home = new URL(self.registration.scope);
const push = `${home.pathname}push`;

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

function address(text) {
  try {
    const url = new URL(text);
    return url.protocol === "https:" || url.protocol === "http:" ? url.href : null;
  } catch {
    return null;
  }
}

function hubName() {
  try {
    return decodeURIComponent(home.pathname.split("/")[2]);
  } catch {
    return "[[news]]";
  }
}

function read(data) {
  try {
    const body = data.json();
    return body && typeof body === "object" ? body : {};
  } catch {
    return {};
  }
}

const text = (value) => (typeof value === "string" ? value : "");
const statusText = { correction: "[[correction]]: ", withdrawn: "[[withdrawn]]: " };
// The words by which titles of feeds and senders say it themselves, as in "RETRACTED: …" or "… (corrected)"; as on agents.
const withdrawals = ["retracted", "retraction", "withdrawn", "withdrawal", "cancelled", "canceled"];
const corrections = ["correction", "corrected"];
const followers = ["note", "notice", "article", "to", "of"];

function marked(title, status) {
  if (!Object.hasOwn(statusText, status)) return title;
  const own = statusText[status].slice(0, -2).toLowerCase();
  const marks = [own, ...withdrawals, ...(status === "correction" ? corrections : [])];
  const parts = title.split(/[:,|()[\]–—]| - /).map((part) => part.trim().toLowerCase().split(/\s+/)).filter(([first]) => first);
  const isMark = ([first, ...rest]) => marks.includes(first) && (rest.length === 0 || (rest.length === 1 && followers.includes(rest[0])));
  return [parts[0], parts.at(-1)].some((words) => words && isMark(words)) ? title : statusText[status] + title;
}

// Of our template, of Safari's declarative form, or of the app backend.
function notification(body) {
  const shown = body.notification && typeof body.notification === "object" ? body.notification : body;
  const secure = /^\d{1,19}$/.test(text(body.secureId)) ? body.secureId : "";
  const message = text(shown.body) || text(shown.message) || (secure ? "[[secureToOpen]]" : "");
  const title = text(shown.title);
  const url = secure ? `${home.href}secure/${secure}` : address(text(body.localizedLink) || text(shown.navigate) || text(shown.link));
  return [
    marked(title || (message ? hubName() : "[[news]]"), text(body.status)),
    { body: message, tag: text(shown.tag), data: { url: url ?? home.href, secure: secure !== "" } },
  ];
}

self.addEventListener("push", (event) => {
  event.waitUntil(self.registration.showNotification(...notification(read(event.data))));
});

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(open(event.notification.data?.url ?? home.href));
});

async function open(url) {
  const tabs = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  // Another page of the hub does not have the story.
  const tab = tabs.find((candidate) => candidate.url.split("#")[0] === url);
  try {
    if (tab) return await tab.focus();
  } catch {
    // The browser does not let it come to the front.
  }
  return self.clients.openWindow(url);
}

// The browser has changed its subscription, or has lost it.
self.addEventListener("pushsubscriptionchange", (event) => event.waitUntil(subscribeAgain(event)));

async function subscribeAgain(event) {
  const manager = self.registration.pushManager;
  let subscription = event.newSubscription ?? (await manager.getSubscription());
  if (!subscription) {
    const answer = await fetch(push, { cache: "no-store" });
    if (!answer.ok) return;
    subscription = await manager.subscribe({ userVisibleOnly: true, applicationServerKey: (await answer.json()).publicKey });
  }
  await fetch(push, { method: "PUT", headers: { "Content-Type": "application/json" }, body: JSON.stringify(subscription) });
}

const offline = `<!doctype html>
<html lang="[[language]]" dir="[[direction]]">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>[[offline]]</title><link rel="icon" href="data:,"></head>
<body><h1>[[offlineHeading]]</h1><p>[[offlineText]] <a href="">[[tryAgain]]</a></p></body>
</html>`;

self.addEventListener("fetch", (event) => {
  if (event.request.mode !== "navigate" || event.request.method !== "GET") return;
  event.respondWith(
    fetch(event.request).catch(
      () =>
        new Response(offline, {
          status: 503,
          headers: { "Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": "default-src 'none'; img-src data:; base-uri 'none'" },
        }),
    ),
  );
});
