// "Notify me": Web Push of this hub. The texts name each state, since a permission button that does nothing explains nothing.
const section = document.getElementById("notify");
const button = document.getElementById("notify-button");
const status = document.getElementById("notify-text");
const patience = 15000;

const texts = {
  default: "Get notifications for your categories, also while this page is closed.",
  asking: "Answer the browser's question, please.",
  working: "One moment…",
  on: "Notifications are on for your categories.",
  denied: "This browser blocks notifications of this page. Allow them in its settings for this site, then reload the page.",
  dismissed: "The browser has not allowed notifications. Try again when you want them.",
  timeout: "The browser's push service does not answer. Try again later.",
  insecure: "Notifications need a secure connection: open this page with https://.",
  homeScreen: "On an iPhone or iPad, first choose Share, then “Add to Home Screen”, and open the page from there.",
  unsupported: "This browser cannot show notifications of a page.",
  unavailable: "This hub does not send notifications to browsers.",
  failed: "That did not work. Try again later.",
};
const disabled = ["asking", "working", "denied", "insecure", "homeScreen", "unsupported", "unavailable"];

function show(state, reason) {
  section.dataset.state = state;
  status.textContent = reason ? `${texts[state]} (${reason})` : texts[state];
  button.textContent = state === "on" ? "Stop notifications" : "Notify me";
  button.disabled = disabled.includes(state);
}

// Fails after a time: some browsers never answer when their push service is out of reach.
function within(work) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new DOMException("", "TimeoutError")), patience);
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

async function send(method, subscription) {
  const answer = await fetch(section.dataset.push, {
    method,
    headers: subscription ? { "Content-Type": "application/json" } : {},
    body: subscription ? JSON.stringify(subscription) : undefined,
  });
  if (!answer.ok) throw new Error(`the server answers ${answer.status}`);
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

function register() {
  const address = section.dataset.worker;
  const trusted = policy ? policy.createScriptURL(address) : address;
  return navigator.serviceWorker.register(trusted, { scope: section.dataset.home });
}

let registration = null;

async function turnOn() {
  show("asking");
  const permission = await Notification.requestPermission();
  if (permission !== "granted") return show(permission === "denied" ? "denied" : "dismissed");
  show("working");
  const answer = await fetch(section.dataset.push, { cache: "no-store" });
  if (answer.status === 404) return show("unavailable");
  if (!answer.ok) throw new Error(`the server answers ${answer.status}`);
  const { publicKey } = await answer.json();
  await within(navigator.serviceWorker.ready);
  const options = { userVisibleOnly: true, applicationServerKey: publicKey };
  await send("PUT", await within(registration.pushManager.subscribe(options)));
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
  await send("DELETE");
  // The hub sends nothing any more, even if the browser cannot reach its push service to end the subscription.
  remember(true);
  const subscription = await registration.pushManager.getSubscription();
  if (subscription) await within(subscription.unsubscribe()).catch(() => {});
  show("default");
}

async function begin() {
  const state = obstacle();
  if (state) return show(state);
  registration = await register();
  const mayHave = Notification.permission === "granted" && !isOff();
  const subscription = mayHave ? await registration.pushManager.getSubscription() : null;
  if (!subscription) return show("default");
  // The hub may have lost it, and the browser may have another one than at the last visit.
  await send("PUT", subscription);
  show("on");
}

async function attempt(work) {
  try {
    await work();
  } catch (error) {
    if (error?.name === "TimeoutError") show("timeout");
    else if (error?.name === "NotAllowedError") show("denied");
    else show("failed", error?.message);
  }
}

if (section) {
  section.hidden = false;
  button.addEventListener("click", () => attempt(section.dataset.state === "on" ? turnOff : registration ? turnOn : begin));
  attempt(begin);
}
