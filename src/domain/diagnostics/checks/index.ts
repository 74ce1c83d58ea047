import type { Check } from '../check.js';
import type { CheckId } from '../check-ids.js';
import { administrators } from './administrators.js';
import { clients } from './clients.js';
import { clock } from './clock.js';
import { config } from './config.js';
import { connections } from './connections.js';
import { cookies } from './cookies.js';
import { database } from './database.js';
import { disk } from './disk.js';
import { issuer } from './issuer.js';
import { log_streams } from './log_streams.js';
import { loops } from './loops.js';
import { mail } from './mail.js';
import { migrations } from './migrations.js';
import { outbox } from './outbox.js';
import { proxy } from './proxy.js';
import { secret_key } from './secret_key.js';
import { settings } from './settings.js';
import { signing_keys } from './signing_keys.js';
import { tls } from './tls.js';
import { versions } from './versions.js';
import { webhooks } from './webhooks.js';

/** Everything that the doctor looks at, in the order in which it tells. The command, the API, the page and docs/reference/doctor.md follow from this list. */
export const checks = {
  config,
  database,
  migrations,
  secret_key,
  issuer,
  proxy,
  tls,
  cookies,
  clock,
  disk,
  signing_keys,
  mail,
  outbox,
  loops,
  webhooks,
  connections,
  log_streams,
  clients,
  settings,
  administrators,
  versions,
} as const satisfies Record<CheckId, Check>;
