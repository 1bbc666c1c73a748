// Keeps the reader's page up to date. Without it the page is complete, and shows news after each reload.
const news = document.getElementById("news");
const list = document.getElementById("messages");
const blank = document.getElementById("message");
const connection = document.getElementById("connection");
const maximumMessages = 50;
// Characters, as in the page that the hub renders.
const maximumTitle = 500;
const maximumText = 4000;
const title = document.title;

// In the page's language, as the reader's region writes it, and the reader's time zone; the page has UTC.
const own = new Intl.DateTimeFormat().resolvedOptions().locale;
const language = own.split("-")[0] === document.documentElement.lang ? own : document.documentElement.lang;
const day = new Intl.DateTimeFormat(language, { dateStyle: "full" });
const moment = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short" });
const clock = new Intl.DateTimeFormat(language, { timeStyle: "short" });
const age = new Intl.RelativeTimeFormat(language, { numeric: "auto", style: "short" });
const hour = 3600000;

// News of the last hour has its age, older news its time; the day is above it.
function showTime(element) {
  const date = new Date(element.dateTime);
  if (Number.isNaN(date.getTime())) return;
  const passed = Date.now() - date.getTime();
  const minutes = Math.floor(passed / 60000);
  const isRecent = passed >= 0 && passed < hour;
  element.textContent = isRecent ? age.format(-minutes, minutes ? "minute" : "second") : clock.format(date);
  element.title = moment.format(date);
}

function showTimes() {
  for (const time of document.querySelectorAll("time")) showTime(time);
  let last = day.format(new Date());
  for (const item of list.children) {
    const date = new Date(item.querySelector("time").dateTime);
    const name = Number.isNaN(date.getTime()) ? last : day.format(date);
    if (name === last) delete item.dataset.day;
    else item.dataset.day = last = name;
  }
}

// Without characters that would change how the rest of the page reads.
function fill(element, text, limit = maximumTitle) {
  const characters = [...(text ?? "")];
  const short = characters.length > limit ? `${characters.slice(0, limit - 1).join("")}…` : characters.join("");
  element.textContent = short.replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, " ");
}

// Only addresses of pages; a publisher may have written anything.
function address(text) {
  try {
    const url = new URL(text);
    return url.protocol === "https:" || url.protocol === "http:" ? url.href : null;
  } catch {
    return null;
  }
}

// The text of a secure message never passes through a push service or the stream; the server has it for the addressee.
async function showSecure(item) {
  const text = item.querySelector(".text");
  try {
    const answer = await fetch(news.dataset.secure + item.dataset.secure, { headers: { Accept: "application/json" }, cache: "no-store" });
    if (answer.ok) fill(text, (await answer.json()).text);
    else if (answer.status === 404) fill(text, "[[secureExpired]]");
  } catch {
    // The link leads to it.
  }
}

const statusText = { update: "[[update]]", correction: "[[correction]]", withdrawn: "[[withdrawn]]" };
let unseen = 0;

function remove(predicate) {
  for (const item of [...list.children]) if (predicate(item)) item.remove();
}

// A story that another category has told already: the page keeps the first, and names this category beside it. News that comes
// after another category's correction is older than the correction. An urgent message is always shown, unless an urgent one was.
function isToldAlready(body, isUrgent) {
  const category = body.category ?? "";
  if (!body.version || !body.story || !category) return false;
  for (const item of list.children) {
    const { story, version } = item.dataset;
    if (story !== body.story || !version) continue;
    const label = item.querySelector(".category");
    const categories = label.textContent.split(", ");
    if (categories.some((other) => other.toLowerCase() === category.toLowerCase())) continue;
    if (isUrgent && !item.classList.contains("urgent")) continue;
    if (version !== body.version) {
      if (!body.status && item.querySelector(".status").textContent) return true;
      continue;
    }
    fill(label, [...categories, category].join(", "));
    return true;
  }
  return false;
}

// Readers who have scrolled down keep their place: new stories wait, at most as many as the page shows.
const fresh = document.getElementById("fresh");
let held = [];

// The stories whose messages a message replaces.
function replacedBy(body) {
  return new Set([body.story, ...(body.replaces ?? "").split(" ")].filter(Boolean));
}

function isReadingBelow() {
  return scrollY > 0 && list.getBoundingClientRect().top < 0;
}

function hold(entry) {
  held = [...held, entry].slice(-maximumMessages);
  countHeld();
}

function countHeld() {
  fresh.textContent = held.length === 1 ? "[[newStory]]" : "[[newStories]]".replace("{count}", held.length);
  fresh.hidden = held.length === 0;
}

// A withdrawal does not wait, and what it withdraws is not shown later.
function withdraw(entry) {
  const stories = replacedBy(entry.body);
  held = held.filter(({ body }) => !stories.has(body.story));
  countHeld();
  show(entry.body, entry.position);
}

function showHeld() {
  const entries = held;
  held = [];
  countHeld();
  for (const { body, position: place } of entries) show(body, place);
}

fresh.addEventListener("click", () => {
  showHeld();
  scrollTo({ top: 0 });
  list.querySelector("a, li")?.focus();
});
addEventListener("scroll", () => held.length && !isReadingBelow() && showHeld(), { passive: true });

// The page of one category shows no other news.
function isElsewhere(body) {
  const { category } = news.dataset;
  return category !== undefined && (body.category ?? "").toLowerCase() !== category.toLowerCase();
}

// What a correction has changed; its mark changes nothing.
function showFormer(item, before, now) {
  if (!before || now.endsWith(before)) return;
  const line = document.createElement("p");
  line.className = "former";
  const text = document.createElement("del");
  text.dir = "auto";
  fill(text, before);
  line.append("[[before]] ", text);
  item.querySelector(".text").before(line);
}

// The hub fetches pictures; a story may have none that can be shown.
function showImage(item, address) {
  const image = document.createElement("img");
  image.alt = "";
  image.src = address;
  image.addEventListener("error", () => image.remove());
  item.querySelector("article").append(image);
}

for (const image of list.querySelectorAll("img")) {
  if (image.complete && !image.naturalWidth) image.remove();
  else image.addEventListener("error", () => image.remove());
}

function show(body, position) {
  const sequence = position.split("-").pop();
  if ([...list.children].some((item) => item.dataset.sequence === sequence)) return;
  const isSecure = /^\d{1,19}$/.test(body.secureId ?? "");
  // A message in other languages than this page's has no text here, and changes nothing here, as on agents.
  if (!isSecure && !body.title && !body.message) return;
  const isUrgent = ["critical", "high", "urgent", "breaking"].includes((body.urgency ?? "").toLowerCase());
  if (isToldAlready(body, isUrgent)) return;
  const item = blank.content.firstElementChild.cloneNode(true);
  item.dataset.sequence = sequence;
  item.dataset.story = body.story ?? "";
  item.dataset.version = body.version ?? "";
  item.classList.add("new", "arrived");
  item.classList.toggle("urgent", isUrgent);
  item.classList.toggle("withdrawn", body.status === "withdrawn");
  fill(item.querySelector(".category"), body.category);
  fill(item.querySelector(".status"), statusText[body.status]);
  const source = document.createElement("span");
  source.className = "source";
  fill(source, body.author || body.feed);
  item.querySelector(".status").after(source);
  const time = item.querySelector("time");
  time.dateTime = new Date().toISOString();
  showTime(time);
  const heading = item.querySelector("h3");
  const secure = isSecure ? body.secureId : "";
  const generic = news.dataset.user ? "[[secureMessage]]" : "[[secureToSignIn]]";
  const text = secure ? generic : body.title || body.message || "";
  const link = secure ? news.dataset.secure + secure : address(body.localizedLink || body.link || "");
  const label = document.createElement(link ? "a" : "span");
  if (link) label.href = link;
  label.dir = "auto";
  fill(label, text);
  heading.replaceChildren(label);
  fill(item.querySelector(".text"), body.title && !secure ? body.message : "", maximumText);
  if (news.dataset.lang && !secure) heading.lang = item.querySelector(".text").lang = news.dataset.lang;
  if (secure) item.dataset.secure = secure;
  if (secure && news.dataset.user) showSecure(item);
  if (news.dataset.images && body.image && body.status !== "withdrawn") showImage(item, `${news.dataset.images}${sequence}`);
  const replaced = replacedBy(body);
  const former = body.status && body.status !== "withdrawn" ? [...list.children].find((other) => body.story && other.dataset.story === body.story) : null;
  if (former) showFormer(item, former.querySelector("h3").textContent, text);
  remove((other) => replaced.has(other.dataset.story));
  list.prepend(item);
  showTimes();
  document.getElementById("empty").hidden = true;
  remove((other) => [...list.children].indexOf(other) >= maximumMessages);
  if (document.hidden) document.title = `(${++unseen}) ${title}`;
}

document.addEventListener("visibilitychange", () => {
  if (document.hidden) return;
  unseen = 0;
  document.title = title;
});

if (news.dataset.user) for (const item of list.querySelectorAll("[data-secure]")) showSecure(item);
showTimes();
setInterval(showTimes, 30000);

// One stream for all tabs: browsers allow six connections to a host. The tab that holds the lock has it, and tells the others.
let position = news.dataset.position ?? "";
const recent = [];
const channel = "BroadcastChannel" in window ? new BroadcastChannel(`newswire ${news.dataset.events}`) : null;

// Other tabs repeat what a new one may lack: what its page has already must not come again, since a later message may have replaced it.
function isPast(other) {
  const [epoch, sequence] = parts(position);
  const [otherEpoch, otherSequence] = parts(other);
  return epoch === otherEpoch && otherSequence <= sequence;
}

function parts(text) {
  const dash = text.lastIndexOf("-");
  return [text.slice(0, dash), Number(text.slice(dash + 1))];
}

function take(entry) {
  if (entry.kind === "message" && isPast(entry.position)) return;
  if (entry.position) position = entry.position;
  if (entry.kind === "message" && !isElsewhere(entry.body)) {
    if (entry.body.status === "withdrawn") withdraw(entry);
    else if (isReadingBelow()) hold(entry);
    else show(entry.body, entry.position);
  }
  if (entry.kind === "gap") {
    const gap = document.getElementById("gap");
    fill(gap, "[[gapHere]]".replace("{reason}", () => entry.reason));
    gap.hidden = false;
  }
  if (entry.kind === "state") fill(connection, entry.text);
  if (entry.kind === "check") check();
}

function tell(entry) {
  take(entry);
  if (entry.kind === "message") recent.push(entry);
  if (recent.length > maximumMessages) recent.shift();
  channel?.postMessage(entry);
}

let source = null;
// Three heartbeats, by the clock, which goes on while the computer sleeps.
const silence = 45000;
// For an answer: a browser may ask over another dead connection.
let patience = 10000;
let heardAt = 0;
let pause = 1000;
let state = "";
let isLeaving = false;

addEventListener("submit", () => {
  isLeaving = true;
});

function say(text) {
  state = text;
  tell({ kind: "state", text });
}

// A connection that was lost silently looks as if there were no news.
function check() {
  if (!source || source.readyState === EventSource.CLOSED) return;
  if (Date.now() - heardAt < (source.readyState ? silence : patience)) return;
  if (!source.readyState) patience = Math.min(2 * patience, silence);
  say("[[reconnecting]]");
  connect();
}

setInterval(check, 5000);
// After sleep, timers may be late. Another tab may have the stream.
for (const name of ["pageshow", "focus"]) addEventListener(name, () => tell({ kind: "check" }));
document.addEventListener("visibilitychange", () => document.hidden || tell({ kind: "check" }));

function connect() {
  source?.close();
  heardAt = Date.now();
  source = new EventSource(`${news.dataset.events}?lastEventId=${encodeURIComponent(position)}`);
  source.onopen = () => {
    heardAt = Date.now();
    pause = 1000;
    patience = 10000;
    say("[[live]]");
  };
  source.addEventListener("heartbeat", (message) => {
    heardAt = Date.now();
    tell({ kind: "heartbeat", position: message.lastEventId });
  });
  source.onmessage = (message) => {
    heardAt = Date.now();
    const { body } = JSON.parse(message.data);
    tell({ kind: "message", position: message.lastEventId, body });
  };
  source.addEventListener("gap", (message) => {
    tell({ kind: "gap", position: message.lastEventId, reason: JSON.parse(message.data).reason });
  });
  // Another window of this browser reads on where windows cannot share a stream.
  source.addEventListener("replaced", () => {
    source.close();
    source = null;
    say("[[connectedElsewhere]]");
  });
  // The session has ended; a form of this page that ends it brings a page of its own.
  source.addEventListener("revoked", () => isLeaving || location.reload());
  source.onerror = async () => {
    heardAt = Date.now();
    if (source?.readyState !== EventSource.CLOSED) return say("[[reconnecting]]");
    say("[[connectionLost]]");
    await new Promise((resume) => setTimeout(resume, pause * (0.5 + Math.random())));
    pause = Math.min(pause * 2, 30000);
    try {
      const answer = await fetch(news.dataset.session, { cache: "no-store" });
      if (answer.status === 401) return location.reload();
    } catch {
      // The next attempt will show more.
    }
    if (source?.readyState === EventSource.CLOSED) connect();
  };
}

function lead() {
  connect();
  addEventListener("online", () => {
    patience = 10000;
    connect();
  });
  // Held until the tab is closed.
  return new Promise(() => {});
}

function readAlone() {
  connect();
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) return connect();
    source?.close();
    source = null;
  });
  addEventListener("focus", () => source ?? connect());
}

// The page's own; a form keeps what its reader has switched since.
const choice = [...document.querySelectorAll("[name=category]")].filter((box) => box.defaultChecked).map((box) => box.value).join();

if (news.dataset.events) {
  if (navigator.locks && channel) {
    channel.onmessage = ({ data }) => {
      if (data.kind !== "hello") return take(data);
      if (data.choice !== choice) return location.reload();
      if (!source) return;
      for (const entry of recent) channel.postMessage(entry);
      channel.postMessage({ kind: "state", text: state });
    };
    channel.postMessage({ kind: "hello", choice });
    navigator.locks.request(`newswire ${news.dataset.events}`, lead);
  } else {
    readAlone();
  }
}

// Not while somebody writes.
const keys = document.getElementById("keys");

function step(by) {
  const items = [...list.querySelectorAll("h3")].map((heading) => heading.querySelector("a") ?? heading);
  const next = items[Math.max(0, items.indexOf(document.activeElement) + by)];
  if (!next) return;
  if (next.tagName !== "A") next.tabIndex = -1;
  next.focus();
  next.closest("li").scrollIntoView({ block: "nearest" });
}

const actions = {
  j: () => step(1),
  k: () => step(-1),
  "/": () => document.getElementById("find").focus(),
  "?": () => keys.open || keys.showModal(),
};

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || event.target.closest?.("input:not([type=checkbox]), textarea, select, dialog")) return;
  const action = actions[event.key];
  if (!action) return;
  event.preventDefault();
  action();
});

// On an iPhone's home screen the browser has no gesture for it.
if (navigator.standalone) {
  let start = null;
  addEventListener("touchstart", (event) => { start = scrollY <= 0 ? event.touches[0].clientY : null; }, { passive: true });
  addEventListener("touchend", (event) => start !== null && event.changedTouches[0].clientY - start > 120 && location.reload(), { passive: true });
}
