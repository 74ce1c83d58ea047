import { runProgram } from './process/run.js';
import { isWorker, startPrimary, startWorker } from './process/cluster.js';
import { startAll } from './process/startup.js';

runProgram(async (config, logger, stops) => {
  if (isWorker) await startWorker(config, logger, stops);
  else if (config.webConcurrency > 1) await startPrimary(config, logger, stops);
  else await startAll(config, logger, stops);
});
