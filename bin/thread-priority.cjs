// Loaded before the service (bin/start.sh): gives the threads that hash passwords and sign a lower priority than the event loop, where they share a processor. A
// password takes one of them some 20 ms, for which every other request would wait. A busy one still gets about a quarter of what it shares with the loop (docs/how-to/operations.md).
'use strict';
const { readdirSync, stat } = require('node:fs');
const { setPriority } = require('node:os');
const { isMainThread } = require('node:worker_threads');

/** A nice value: the weight of 5 is a third of that of 0. */
const priority = 5;

const threads = () => readdirSync('/proc/self/task');

// Worker threads load this as well; the pool, which is the process's, is there already then.
if (process.platform === 'linux' && isMainThread) {
  try {
    const before = new Set(threads());
    // libuv starts all threads of its pool (UV_THREADPOOL_SIZE, 4 by default) with its first work, before that call returns. This is the first: an ES module
    // would be too late, since Node loads those with the pool.
    stat('/', () => {});
    for (const thread of threads()) if (!before.has(thread)) setPriority(Number(thread), priority);
  } catch (error) {
    console.error(`the priority of the threads beside the event loop stays as it is: ${error.message}`);
  }
}
