// The ceiling: no queue, no record. What is loaded is signed and posted.
import { inFlight, post, serve } from './channel.js';
import type { Message } from './courier.js';

let waiting: readonly Message[] = [];
let running: Promise<unknown> | null = null;

async function work(messages: readonly Message[]): Promise<void> {
  let next = 0;
  const lane = async () => {
    for (let i = next++; i < messages.length; i = next++) await post(messages[i] as Message);
  };
  await Promise.all(Array.from({ length: inFlight }, lane));
}

serve({
  load: async (messages) => void (waiting = messages),
  async go() {
    running = work(waiting).then(() => (running = null));
  },
  isDone: async () => running === null,
  stop: async () => undefined,
});
