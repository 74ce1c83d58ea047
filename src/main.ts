import { run } from './run.js';
import { startAll } from './runtime.js';

run(async (config, logger, stops) => {
  await startAll(config, logger, stops);
});
