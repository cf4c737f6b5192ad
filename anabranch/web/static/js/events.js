// The service's event stream, read with fetch so that it can carry the token; it reconnects by itself.

import { headers, refusal } from "./api.js";

// The service sends at least a comment every 15 seconds.
const SILENCE = 40_000;
const WAITS = [500, 1000, 2000, 4000, 8000];

/** Call `on.event(kind, data)` for each event, `on.state("live" | "lost" | "denied")` when that changes. */
export function listen(on) {
  let attempt = 0;
  let wake = null;
  let current = null;

  async function once() {
    const controller = new AbortController();
    current = controller;
    let timer = setTimeout(() => controller.abort(), SILENCE);
    try {
      const response = await fetch("/api/v1/events", {
        headers: headers({ Accept: "text/event-stream" }), cache: "no-store", signal: controller.signal,
      });
      if (response.status === 401) return "denied";
      if (!response.ok) throw await refusal(response);
      on.state("live");
      attempt = 0;
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      let text = "";
      for (;;) {
        const { value, done } = await reader.read();
        if (done) return "lost";
        clearTimeout(timer);
        timer = setTimeout(() => controller.abort(), SILENCE);
        text = take(text + value.replaceAll("\r\n", "\n"), on.event);
      }
    } catch {
      // Whatever broke the stream, the remedy is the same: connect again.
      return "lost";
    } finally {
      clearTimeout(timer);
    }
  }

  async function forever() {
    for (;;) {
      on.state(await once());
      const pause = WAITS[Math.min(attempt++, WAITS.length - 1)];
      await new Promise((resolve) => {
        wake = resolve;
        setTimeout(resolve, pause);
      });
    }
  }

  forever();
  return {
    /** Connect anew at once: there is another token, or the network is back. */
    again() {
      current?.abort();
      attempt = 0;
      wake?.();
    },
  };
}

/** Hand over the complete events at the head of a text; what is left of it. */
function take(text, handle) {
  const blocks = text.split("\n\n");
  const rest = blocks.pop();
  for (const block of blocks) {
    let kind = "message";
    const data = [];
    for (const line of block.split("\n")) {
      if (line.startsWith("event:")) kind = line.slice(6).trim();
      else if (line.startsWith("data:")) data.push(line.slice(5).trim());
    }
    if (data.length) handle(kind, JSON.parse(data.join("\n")));
  }
  return rest;
}
