// The site's own files for when there is no network: sw.mjs keeps them. Without secure context, without service workers and for readers
// who save data the page is as it was.
const SCRIPT = "sw.mjs";
const able = () => window.isSecureContext && "serviceWorker" in navigator;

export async function stayOffline() {
  if (!able() || navigator.connection?.saveData) return;
  try {
    await navigator.serviceWorker.register(SCRIPT, { updateViaCache: "none" });
  } catch (error) {
    console.info(`No copy for offline use: ${error.message}`);
  }
}

export async function forgetOffline() {
  if (!able()) return;
  const at = await navigator.serviceWorker.getRegistration(SCRIPT);
  at?.active?.postMessage("forget");
  await at?.unregister();
}
