// "Notify me": Web Push of this hub. The texts name each state, since a permission button that does nothing explains nothing.
const section = document.getElementById("notify");
const button = document.getElementById("notify-button");
const status = document.getElementById("notify-text");
// The page on trusting the hub's own authority; there is none if the hub has another certificate.
const help = document.getElementById("notify-help");
const patience = 15000;

const hasChoice = "chosen" in (section?.dataset ?? {});

const texts = {
  default: hasChoice ? "[[notifyExplained]]" : "[[notifyBegin]]",
  asking: "[[notifyAsking]]",
  working: "[[notifyWorking]]",
  on: hasChoice ? "[[notifyOn]]" : "[[notifyOnWithoutChoice]]",
  denied: "[[notifyDenied]]",
  dismissed: "[[notifyAgain]]",
  timeout: "[[notifyTimeout]]",
  noService: "[[notifyNoService]]",
  insecure: "[[notifyInsecure]]",
  homeScreen: "[[notifyHomeScreen]]",
  unsupported: "[[notifyUnsupported]]",
  unavailable: "[[notifyUnavailable]]",
  unusable: "[[notifyUnusable]]",
  untrusted: "[[notifyUntrusted]]",
  refused: "[[notifyRefused]]",
  worker: "[[notifyWorker]]",
  ended: "[[notifyEnded]]",
  often: "[[notifyOften]]",
  unreachable: "[[notifyUnreachable]]",
  failed: "[[notifyFailed]]",
};
const disabled = ["asking", "working", "denied", "insecure", "homeScreen", "unsupported", "unavailable", "unusable", "untrusted", "refused", "ended"];

// A failure whose state names the cause and the step.
class Failure extends Error {
  constructor(state, cause) {
    super(state, { cause });
    this.state = state;
  }
}

function show(state) {
  section.dataset.state = state;
  status.textContent = texts[state];
  button.textContent = state === "on" ? "[[notifyStop]]" : "[[notifyMe]]";
  button.disabled = disabled.includes(state);
  if (help) help.hidden = state !== "untrusted";
}

// Fails with a state after a time: some browsers never answer when their push service is out of reach.
function within(work, state) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Failure(state)), patience);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

function isAppleTouch() {
  return /iPhone|iPad|iPod/.test(navigator.userAgent) || (navigator.platform === "MacIntel" && navigator.maxTouchPoints > 1);
}

function obstacle() {
  if (!window.isSecureContext) return "insecure";
  if ("serviceWorker" in navigator && "PushManager" in window && "Notification" in window) {
    return Notification.permission === "denied" ? "denied" : null;
  }
  return isAppleTouch() && !navigator.standalone ? "homeScreen" : "unsupported";
}

const answers = { 401: "ended", 404: "unavailable", 429: "often" };

async function call(method, body) {
  const headers = body ? { "Content-Type": "application/json" } : {};
  const answer = await fetch(section.dataset.push, { method, headers, body, cache: "no-store" }).catch((error) => {
    throw new Failure("unreachable", error);
  });
  if (!answer.ok) throw new Failure(answers[answer.status] ?? "failed", new Error(`the server answers ${answer.status}`));
  return answer;
}

// Registering a worker takes an address that a policy vouches for, where browsers know policies.
const policy = section
  ? window.trustedTypes?.createPolicy("worker", {
      createScriptURL(url) {
        if (url !== section.dataset.worker) throw new TypeError("not the worker of this page");
        return url;
      },
    })
  : null;

async function register() {
  const address = section.dataset.worker;
  const trusted = policy ? policy.createScriptURL(address) : address;
  try {
    return await within(navigator.serviceWorker.register(trusted, { scope: section.dataset.home }), "worker");
  } catch (error) {
    if (error?.name !== "SecurityError") throw error instanceof Failure ? error : new Failure("worker", error);
    // Browsers refuse a worker whose certificate they do not trust, even if the reader has opened the page regardless.
    throw new Failure(help && location.protocol === "https:" ? "untrusted" : "refused", error);
  }
}

async function subscribe(options) {
  const manager = registration.pushManager;
  const attempt = () => within(manager.subscribe(options), "timeout");
  try {
    return await attempt().catch(async (error) => {
      // The browser has a subscription for an earlier key of the hub, which must end first.
      const former = error?.name === "InvalidStateError" ? await manager.getSubscription() : null;
      if (!former) throw error;
      await within(former.unsubscribe(), "timeout");
      return attempt();
    });
  } catch (error) {
    if (error instanceof Failure) throw error;
    throw new Failure(error?.name === "NotAllowedError" ? "denied" : "noService", error);
  }
}

async function hubKey() {
  return (await (await call("GET")).json()).publicKey;
}

// The key of a subscription as the hub writes it; some browsers do not show it.
function keyOf(subscription) {
  const key = subscription.options?.applicationServerKey;
  if (!key) return null;
  const text = btoa(String.fromCharCode(...new Uint8Array(key)));
  return text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

let registration = null;

async function turnOn() {
  show("asking");
  const permission = await Notification.requestPermission();
  if (permission !== "granted") return show(permission === "denied" ? "denied" : "dismissed");
  show("working");
  const key = await hubKey();
  await within(navigator.serviceWorker.ready, "worker");
  const subscription = await subscribe({ userVisibleOnly: true, applicationServerKey: key });
  await call("PUT", JSON.stringify(subscription));
  remember(false);
  show("on");
}

// Set when the reader has switched notifications off: the browser may have kept its subscription.
const stored = section ? `newswire-off:${section.dataset.home}` : "";

function isOff() {
  try {
    return localStorage.getItem(stored) !== null;
  } catch {
    return false;
  }
}

function remember(off) {
  try {
    if (off) localStorage.setItem(stored, "");
    else localStorage.removeItem(stored);
  } catch {
    // Without storage, the next visit asks the browser alone.
  }
}

async function turnOff() {
  show("working");
  await call("DELETE");
  // The hub sends nothing any more, even if the browser cannot reach its push service to end the subscription.
  remember(true);
  const subscription = await registration.pushManager.getSubscription();
  if (subscription) await within(subscription.unsubscribe(), "timeout").catch(() => {});
  show("default");
}

async function begin() {
  if (section.dataset.obstacle) {
    show(section.dataset.obstacle);
    // Without notifications the worker still shows that the hub cannot be reached.
    if (window.isSecureContext && "serviceWorker" in navigator) await register().catch(() => {});
    return;
  }
  const state = obstacle();
  if (state) return show(state);
  registration = await register();
  const mayHave = Notification.permission === "granted" && !isOff();
  let subscription = mayHave ? await registration.pushManager.getSubscription() : null;
  if (!subscription) return show("default");
  const [key, former] = [await hubKey(), keyOf(subscription)];
  if (former && former !== key) {
    show("working");
    await within(navigator.serviceWorker.ready, "worker");
    subscription = await subscribe({ userVisibleOnly: true, applicationServerKey: key });
  }
  // The hub may have lost it, and the browser may have another one than at the last visit.
  await call("PUT", JSON.stringify(subscription));
  show("on");
}

async function attempt(work) {
  try {
    await work();
  } catch (error) {
    show(error instanceof Failure ? error.state : "failed");
    // For whoever helps the reader.
    console.info("notifications:", error?.cause ?? error);
  }
}

if (section) {
  section.hidden = false;
  button.addEventListener("click", () => attempt(section.dataset.state === "on" ? turnOff : registration ? turnOn : begin));
  attempt(begin);
}
