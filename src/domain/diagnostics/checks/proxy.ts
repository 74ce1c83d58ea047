import ipaddr from 'ipaddr.js';
import { listAllVerifiedDomains } from '../../../db/tables/custom_domains.js';
import { listProcesses, type ForwardedAddress } from '../../../db/tables/processes.js';
import { fixes } from '../../../lib/remedies.js';
import { check, type Found } from '../check.js';
import type { Installation } from '../installation.js';

type Fault = 'everybody' | 'untrusted' | 'host' | 'protocol';

/** Samples below which nothing is concluded, and the share of them that has to agree: anybody may send such headers now and then. */
const fewest = 3;
const share = 0.5;

/** Whether the address is one of this machine or of a private network, where proxies are. */
const isNear = (address: string) =>
  ipaddr.isValid(address) && ['loopback', 'private', 'uniqueLocal'].includes(ipaddr.parse(address).range());
const isLoopback = (address: string) => ipaddr.isValid(address) && ipaddr.parse(address).range() === 'loopback';

/** What most requests say that a header of this name came with; null when there is no such thing. */
function commonest<T>(seen: readonly ForwardedAddress[], sampled: number, of: (one: ForwardedAddress) => T | null): T | null {
  const counts = new Map<T, number>();
  for (const one of seen) {
    const value = of(one);
    if (value !== null) counts.set(value, (counts.get(value) ?? 0) + one.count);
  }
  const [first] = [...counts].sort(([, one], [, other]) => other - one);
  return first && first[1] >= fewest && first[1] >= sampled * share ? first[0] : null;
}

function faultsOf(
  { config }: Installation,
  seen: readonly ForwardedAddress[],
  sampled: number,
  own: (host: string) => boolean,
): Found<Fault>[] {
  const found: Found<Fault>[] = [];
  const peer = commonest(seen, sampled, (one) => (one.trusted ? null : one.peer));
  if (peer !== null) {
    const fix = fixes.setVariable('TRUST_PROXY', isLoopback(peer) ? 'loopback' : peer);
    const whose = isNear(peer) ? peer : `${peer}, which is no private address: trust it only if it is your proxy`;
    const finding = `Requests come with X-Forwarded headers that are ignored, from ${whose}.`;
    found.push({ fault: 'untrusted', finding, fix, subject: 'TRUST_PROXY' });
  }
  // Strangers must not choose the address that somebody is told to set.
  const credible = seen.filter((one) => one.trusted || isNear(one.peer));
  const host = commonest(credible, sampled, (one) => (one.host !== null && !own(one.host) ? one.host : null));
  const proto = commonest(credible, sampled, (one) => one.proto);
  const { protocol } = new URL(config.baseUrl);
  if (host !== null) {
    const fix = fixes.setVariable('BASE_URL', `${proto ?? protocol.slice(0, -1)}://${host}`);
    const finding = `The proxy in front is asked for ${host}, but BASE_URL is ${config.baseUrl}.`;
    found.push({ fault: 'host', finding, fix, subject: 'BASE_URL' });
  } else if (proto !== null && `${proto}:` !== protocol) {
    const finding = `The proxy in front is asked over ${proto}, but BASE_URL is ${config.baseUrl}.`;
    found.push({ fault: 'protocol', finding, fix: fixes.setVariable('BASE_URL', `${proto}://${config.baseHost}`), subject: 'BASE_URL' });
  }
  return found;
}

export const proxyCheck = check({
  id: 'proxy',
  title: 'Proxy',
  inspects:
    '`TRUST_PROXY`, and what `X-Forwarded-Host` and `X-Forwarded-Proto` said in samples of the last ten minutes: one request a second of each process, at least three, and at least half of them.',
  okText: 'The proxy’s headers match BASE_URL.',
  needs: 'schema',
  variables: ['BASE_URL', 'TRUST_PROXY'],
  faults: {
    host: {
      level: 'problem',
      when: 'a proxy is asked for a host that isn’t `BASE_URL`’s, an environment’s or a custom domain',
      why: 'Issuer, links and cookies are made for an address that people don’t use: sign-in fails or leads elsewhere.',
      mend: '`BASE_URL`',
    },
    protocol: {
      level: 'problem',
      when: 'a proxy is asked over another protocol than that of `BASE_URL`',
      why: 'Issuer, links and cookies are made for the other protocol.',
      mend: '`BASE_URL`, or `X-Forwarded-Proto` at the proxy',
    },
    untrusted: {
      level: 'warning',
      when: 'requests come through a proxy that `TRUST_PROXY` doesn’t cover',
      why: 'Everybody seems to come from the proxy’s address: limits by address hit all of them together, and the audit log names nobody.',
      mend: '`TRUST_PROXY`',
    },
    everybody: {
      level: 'warning',
      when: '`TRUST_PROXY=on` with a public `BASE_URL`',
      why: 'Every caller chooses the address that limits count by and the audit log shows.',
      mend: '`TRUST_PROXY`: the number of proxies, or their addresses',
    },
  },
  async run({ installation, database }) {
    const { config } = installation;
    const everybody: Found<Fault>[] =
      config.trustProxy === true && !config.loopback
        ? [
            {
              fault: 'everybody',
              finding: 'TRUST_PROXY=on believes every X-Forwarded header.',
              fix: fixes.setVariable('TRUST_PROXY', '1'),
              subject: 'TRUST_PROXY',
            },
          ]
        : [];
    const { processes, domains } = await database(async (trx) => ({
      processes: await listProcesses(trx),
      domains: (await listAllVerifiedDomains(trx)).map(({ domain }) => domain),
    }));
    const hosts = new Set([config.baseHost, ...domains]);
    const own = (host: string) => hosts.has(host) || host.endsWith(`.${config.baseHost}`) || hosts.has(host.replace(/:(80|443)$/, ''));
    const seen = processes.flatMap(({ forwarded }) => forwarded.seen);
    const sampled = processes.reduce((sum, { forwarded }) => sum + forwarded.sampled, 0);
    return [...everybody, ...faultsOf(installation, seen, sampled, own)];
  },
});
