import { findDefaultEnvironment } from '../../../db/tables/environments.js';
import { listVerifiedDomains } from '../../../db/tables/custom_domains.js';
import { listProcesses } from '../../../db/tables/processes.js';
import { own } from '../../../lib/named.js';
import { createGuardedFetch, OutboundError } from '../../../platform/fetch/fetch.js';
import { fixes, probes } from '../../../lib/remedies.js';
import { check, type CheckContext } from '../check.js';

const path = '/.well-known/openid-configuration';

/** The issuers that the default environment may have, and how many processes are at work; null where the database doesn't tell. */
async function expected({ installation, database, hasSchema }: CheckContext): Promise<{ issuers: string[]; processes: number } | null> {
  if (!(await hasSchema())) return null;
  return database(async (trx) => {
    const environment = await findDefaultEnvironment(trx);
    const domains = environment ? await listVerifiedDomains(trx, environment.id) : [];
    const issuers = domains.filter(({ is_primary }) => is_primary).map(({ domain }) => `https://${domain}`);
    return { issuers: [...issuers, installation.config.baseUrl], processes: (await listProcesses(trx)).length };
  });
}

type Answer = { readonly status: number; readonly issuer: string | null } | { readonly failed: string };

/** What discovery at the address says. The address is the operator's own: it may be a private one. */
async function askDiscovery(baseUrl: string): Promise<Answer> {
  const fetch = createGuardedFetch({ allowPrivateNetwork: true });
  try {
    const { status, body } = await fetch.request(`${baseUrl}${path}`, { timeoutMs: 3000, headers: { accept: 'application/json' } });
    return { status, issuer: status === 200 ? issuerIn(body.toString('utf8')) : null };
  } catch (error) {
    return { failed: error instanceof OutboundError ? error.reason : 'protocol' };
  } finally {
    await fetch.close();
  }
}

/** The issuer that a document names, as far as it is an origin. */
function issuerIn(text: string): string | null {
  try {
    const { issuer } = JSON.parse(text) as { issuer?: unknown };
    return typeof issuer === 'string' && URL.canParse(issuer) && /^https?:/.test(issuer) ? new URL(issuer).origin : null;
  } catch {
    return null;
  }
}

const reasons = {
  timeout: 'nobody answers in time',
  dns: 'its name does not resolve',
  connect: 'nobody listens there',
  tls: 'TLS fails (see tls)',
  blocked_address: 'it is an address that is never asked',
} as const;

export const issuerCheck = check({
  id: 'issuer',
  title: 'Issuer',
  inspects: 'Discovery at `BASE_URL`, asked from here over the network as a client would.',
  okText: 'Discovery answers at BASE_URL with the right issuer.',
  needs: null,
  variables: ['BASE_URL', 'PORT'],
  faults: {
    stopped: {
      level: 'problem',
      when: 'discovery can’t be reached, and no process of the service runs here or shows in the database',
      why: 'Nobody can sign in.',
      mend: '`npm start`',
    },
    away: {
      level: 'problem',
      when: 'discovery can’t be reached though processes run, or answers something else',
      why: 'Clients find neither endpoints nor keys. (Or only this machine can’t reach the address: then ask from another one.)',
      mend: '`curl` at the address tells how; then the proxy, DNS or `BASE_URL`',
    },
    foreign: {
      level: 'problem',
      when: 'discovery at `BASE_URL` names another issuer',
      why: 'Clients refuse tokens whose issuer is not where they asked (OIDC Discovery 4.3); links in mail lead elsewhere.',
      mend: '`BASE_URL`, of all processes alike',
    },
  },
  async run(context) {
    const { baseUrl } = context.installation.config;
    const [answer, known] = await Promise.all([askDiscovery(baseUrl), expected(context).catch(() => null)]);
    if ('failed' in answer) {
      const how = own(reasons, answer.failed) ?? 'what answers there is no HTTP';
      const finding = `Discovery at ${baseUrl} is away: ${how}.`;
      // Where the database doesn't tell either, a closed port on this machine does.
      const stopped = known ? known.processes === 0 : answer.failed === 'connect' && context.installation.config.loopback;
      if (stopped) return [{ fault: 'stopped', finding, fix: fixes.start(), subject: 'BASE_URL' }];
      return [{ fault: 'away', finding, look: probes.address(baseUrl + path), subject: 'BASE_URL' }];
    }
    if (answer.issuer === null) {
      const finding = `${baseUrl}${path} answers ${answer.status} without a discovery document.`;
      return [{ fault: 'away', finding, look: probes.address(baseUrl + path), subject: 'BASE_URL' }];
    }
    if ((known?.issuers ?? [baseUrl]).includes(answer.issuer)) return [];
    const finding = `Discovery at ${baseUrl} names the issuer ${answer.issuer}.`;
    return [{ fault: 'foreign', finding, fix: fixes.setVariable('BASE_URL', answer.issuer), subject: 'BASE_URL' }];
  },
});
