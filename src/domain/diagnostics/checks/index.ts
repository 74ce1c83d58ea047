import type { Check } from '../check.js';
import type { CheckId } from '../check-ids.js';
import { administratorsCheck } from './administrators.js';
import { cellsCheck } from './cells.js';
import { clientsCheck } from './clients.js';
import { clockCheck } from './clock.js';
import { configCheck } from './config.js';
import { connectionsCheck } from './connections.js';
import { cookiesCheck } from './cookies.js';
import { databaseCheck } from './database.js';
import { diskCheck } from './disk.js';
import { feedCheck } from './feed.js';
import { issuerCheck } from './issuer.js';
import { logStreamsCheck } from './log_streams.js';
import { loopsCheck } from './loops.js';
import { mailCheck } from './mail.js';
import { migrationsCheck } from './migrations.js';
import { organizationsCheck } from './organizations.js';
import { outboxCheck } from './outbox.js';
import { partitionsCheck } from './partitions.js';
import { proxyCheck } from './proxy.js';
import { samlCheck } from './saml.js';
import { secretKeyCheck } from './secret_key.js';
import { settingsCheck } from './settings.js';
import { signalStreamsCheck } from './signal_streams.js';
import { signingKeysCheck } from './signing_keys.js';
import { tlsCheck } from './tls.js';
import { replicasCheck } from './replicas.js';
import { versionsCheck } from './versions.js';
import { webhooksCheck } from './webhooks.js';

/** Everything that the doctor looks at, in the order in which it tells. The command, the API, the page and docs/reference/doctor.md follow from this list. */
export const checks = {
  config: configCheck,
  database: databaseCheck,
  replicas: replicasCheck,
  migrations: migrationsCheck,
  secret_key: secretKeyCheck,
  issuer: issuerCheck,
  proxy: proxyCheck,
  tls: tlsCheck,
  cookies: cookiesCheck,
  clock: clockCheck,
  disk: diskCheck,
  signing_keys: signingKeysCheck,
  mail: mailCheck,
  outbox: outboxCheck,
  feed: feedCheck,
  loops: loopsCheck,
  partitions: partitionsCheck,
  webhooks: webhooksCheck,
  connections: connectionsCheck,
  saml: samlCheck,
  organizations: organizationsCheck,
  log_streams: logStreamsCheck,
  signal_streams: signalStreamsCheck,
  clients: clientsCheck,
  settings: settingsCheck,
  cells: cellsCheck,
  administrators: administratorsCheck,
  versions: versionsCheck,
} as const satisfies Record<CheckId, Check>;
