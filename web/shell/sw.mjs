// Keeps the site's own files for when there is no network. Every page is served whole from the build its HTML came from, so that an open
// page never meets the files of another one; a new build is taken up by the next page that is opened. Files of others, and folders of
// the site besides this one, never pass here. tools/seal_site.py fills in what follows.
const BUILD = "";
const FILES = {};

const HOME = new URL("./", self.location);
const PREFIX = `wireplan ${HOME.pathname} `;
const PAGES = `${PREFIX}pages`;  // which build an open page is of
const SECONDS = 1000;
const PATIENCE = 3 * SECONDS;    // for a network that does not answer
const FRESH = 60 * SECONDS;      // a page that opens is not yet among those that are open

const cacheOf = (build) => PREFIX + build;

self.addEventListener("install", (event) => event.waitUntil(keep()));
self.addEventListener("activate", (event) => event.waitUntil(clear().then(() => self.clients.claim())));
self.addEventListener("message", (event) => event.data === "forget" && event.waitUntil(forget()));

// All files or none: each must be what this build was sealed with, so that a site caught in the middle of being copied is not kept.
async function keep() {
  const cache = await caches.open(cacheOf(BUILD));
  try {
    await Promise.all(Object.entries(FILES).map(async ([name, integrity]) => {
      const got = await fetch(new Request(name, { cache: "no-cache", integrity }));
      if (!got.ok) throw new Error(`${name}: ${got.status}`);
      // Some hosts lead index.html to the folder; what was led elsewhere may not answer a page.
      await cache.put(name, got.redirected ? new Response(await got.blob(), { headers: got.headers }) : got);
    }));
  } catch (error) {
    await caches.delete(cacheOf(BUILD));
    throw error;
  }
  await self.skipWaiting();
}

// Builds that no open page is of, and pages that are no longer open.
async function clear() {
  const pages = await caches.open(PAGES);
  const open = new Set((await self.clients.matchAll({ type: "all", includeUncontrolled: true })).map(({ id }) => id));
  const needed = new Set([PAGES, cacheOf(BUILD)]);
  for (const request of await pages.keys()) {
    const noted = await (await pages.match(request)).json();
    if (open.has(new URL(request.url).searchParams.get("id")) || Date.now() - noted.at < FRESH) needed.add(cacheOf(noted.build));
    else await pages.delete(request);
  }
  for (const name of await caches.keys()) if (name.startsWith(PREFIX) && !needed.has(name)) await caches.delete(name);
}

async function forget() {
  for (const name of await caches.keys()) if (name.startsWith(PREFIX)) await caches.delete(name);
}

const noteOf = (id) => `${HOME}?id=${encodeURIComponent(id)}`;
const known = new Map();  // a worker is ended and started again between two requests of a page

async function note(id, build) {
  if (!id || !build) return;
  known.set(id, build);
  await (await caches.open(PAGES)).put(noteOf(id), new Response(JSON.stringify({ build, at: Date.now() })));
}

async function buildOf(id) {
  if (!known.has(id)) known.set(id, (await (await (await caches.open(PAGES)).match(noteOf(id)))?.json())?.build);
  return known.get(id);
}

const stored = async (build, name) => ((await caches.has(cacheOf(build))) ? (await caches.open(cacheOf(build))).match(name) : undefined);

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const url = new URL(request.url);
  if (!BUILD || request.method !== "GET" || url.origin !== HOME.origin || !url.pathname.startsWith(HOME.pathname)) return;
  const name = decodeURIComponent(url.pathname.slice(HOME.pathname.length)) || "index.html";
  if (name.includes("/")) return;
  if (request.mode === "navigate") {
    if (name in FILES) event.respondWith(page(event, name));
  } else {
    event.respondWith(part(event, name));
  }
});

const inTime = (promise) => Promise.race([promise, new Promise((_, late) => setTimeout(late, PATIENCE, new Error("no answer in time")))]);

// The network is asked which build is the present one. That of this worker comes from the cache; another, and what is no page of Wireplan
// any more, from the network.
async function page(event, name) {
  const id = event.resultingClientId;
  const mine = await stored(BUILD, name);
  if (!mine) return fetch(event.request);
  try {
    const fresh = await inTime(fetch(event.request));
    if (fresh.status < 500) {
      const build = fresh.ok ? /\bdata-build="(\w+)"/.exec(await inTime(fresh.clone().text()))?.[1] : undefined;
      if (build !== BUILD) {
        await note(id, build);
        return fresh;
      }
    }
  } catch { /* no network: the copy serves */ }
  await note(id, BUILD);
  return mine;
}

async function part(event, name) {
  const { request, clientId, resultingClientId } = event;
  const build = await buildOf(clientId);
  if (request.destination === "worker") await note(resultingClientId, build);
  if (build) return (await stored(build, name)) ?? fetch(request);
  // A page that was open before this worker was: it came from the network, and goes on so as long as there is one.
  try {
    return await fetch(request);
  } catch (error) {
    const mine = await stored(BUILD, name);
    if (mine) return mine;
    throw error;
  }
}
