// Searches layouts beside the page, so that it stays at hand. In: {id, plan, options} or {id, stop}; out: {id, known} now and then, {id, answer}, and
// what to change first, {id, advice, plan}.
import { estimate, ready, search } from "./wireplan.mjs";

const running = new Map();

onmessage = async ({ data: { id, plan, options, stop } }) => {
  if (stop) return running.get(id)?.abort();
  const control = new AbortController();
  running.set(id, control);
  try {
    await ready;
    let last = 0;
    const tell = (known) => {
      const now = performance.now();
      if (now - last < 80 && !known.done) return;
      last = now;
      postMessage({ id, known });
    };
    const start = performance.now();
    const answer = await search(plan, options, tell, control.signal);
    postMessage({ id, answer, spent_ms: performance.now() - start });
    if (control.signal.aborted) return;
    const advised = estimate(plan, { advise: "changes" });
    if (!advised.errors) postMessage({ id, advice: advised.advice, plan: advised.plan });
  } catch (error) {
    postMessage({ id, answer: { errors: [{ path: "", value: "", limit: "", text: String(error?.message ?? error) }] } });
  } finally {
    running.delete(id);
  }
};
