// The watcher of the addresses that are always open, a process of its own: in the one that makes the load it would measure how late that one is.
import { fork } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Connection, requestText } from './driver.js';

/** Milliseconds of each answer, by path; and how late the watcher itself was each time it wanted to ask: the machine's share. */
export type OpenTimes = { readonly answers: Readonly<Record<string, number[]>>; readonly late: number[] };

const watching = 'watch-open-addresses';

type Asked = { readonly port: number; readonly paths: readonly string[]; readonly everyMs: number };

/** Asks each of the paths steadily until `stop`, each on a connection of its own, which has one request on its way at most. */
export function watchOpenAddresses(asked: Asked): { stop(): Promise<OpenTimes> } {
  const watcher = fork(fileURLToPath(import.meta.url), [watching]);
  watcher.send(asked);
  const found = new Promise<OpenTimes>((resolve, reject) => {
    watcher.once('message', (times: OpenTimes) => resolve(times));
    watcher.once('exit', (code) => reject(new Error(`the watcher of the open addresses ended with ${code}`)));
  });
  // Whoever stops it is told; until then a failure is nobody's.
  found.catch(() => undefined);
  return {
    async stop() {
      if (watcher.connected) watcher.send('stop');
      return found;
    },
  };
}

async function watch({ port, paths, everyMs }: Asked, stopped: AbortSignal): Promise<OpenTimes> {
  const answers: Record<string, number[]> = {};
  const late: number[] = [];
  await Promise.all(
    paths.map(async (path, index) => {
      const times: number[] = [];
      answers[path] = times;
      const connection = new Connection(port);
      const text = requestText('GET', path, { Host: `localhost:${port}` });
      // They don't all ask at the same moment.
      await delay((everyMs / paths.length) * index);
      while (!stopped.aborted) {
        const began = performance.now();
        const { status } = await connection.send(text);
        if (status !== 200) throw new Error(`${path} answered ${status} under load`);
        times.push(performance.now() - began);
        const slept = performance.now();
        await delay(everyMs);
        late.push(performance.now() - slept - everyMs);
      }
      connection.close();
    }),
  );
  return { answers, late };
}

if (process.argv[2] === watching) {
  const ending = new AbortController();
  process.once('message', (asked: Asked) => {
    process.once('message', () => ending.abort());
    void watch(asked, ending.signal).then((times) => process.send?.(times, () => process.exit(0)));
  });
}
