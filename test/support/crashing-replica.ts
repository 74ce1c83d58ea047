// The service as a process that kills itself at one point of a delivery: argv is the point.
import { createLogger } from '../../src/platform/log/logger.js';
import { readConfig } from '../../src/config.js';
import { observeStatements } from './statements.js';
import { createGuardedFetch } from '../../src/platform/fetch/fetch.js';
import { createDeps, prepareDatabase, startService } from '../../src/process/service.js';

const point = process.argv[2];
const die = () => process.kill(process.pid, 'SIGKILL');
const config = readConfig();
const url = config.databaseUrl ?? '';
const guarded = createGuardedFetch({ allowPrivateNetwork: true });
const fetch: typeof guarded = {
  ...guarded,
  async request(...args) {
    if (point === 'claimed') die();
    const answer = await guarded.request(...args);
    if (point === 'answered') die();
    return answer;
  },
};
const deps = createDeps(config, createLogger(config), { url, directUrl: url, secretKey: config.secretKey ?? '' }, { fetch });
await prepareDatabase(deps, url);
observeStatements((text) => {
  if (point === 'claiming' && text.includes('lease_due_deliveries')) die();
  if (point === 'recording' && text.includes('webhook_delivery_attempts')) setImmediate(die);
});
await startService(deps, url);
