import { listAllVerifiedDomains } from '../../../db/tables/custom_domains.js';
import { readCertificate, type ServerCertificate } from '../../../platform/server-certificate.js';
import { certificateCondition } from '../../health/health.js';
import { fixes, probes } from '../../../lib/remedies.js';
import { check, type Found } from '../check.js';

type Fault = 'away' | 'name' | 'chain' | 'expired' | 'expiring';

const dayMs = 86_400_000;
const maxHosts = 20;

type Host = { readonly name: string; readonly port: number };

/** What is wrong with the certificate that a host shows. */
export function certificateFault({ name, port }: Host, { problem, code, valid_to }: ServerCertificate, now: Date): Found<Fault>[] {
  const subject = port === 443 ? name : `${name}:${port}`;
  const until = valid_to.toISOString().slice(0, 10);
  const days = Math.floor((valid_to.getTime() - now.getTime()) / dayMs);
  const renew = fixes.renewCertificate(name);
  switch (certificateCondition(problem, valid_to, now)) {
    case 'expired':
      return [{ fault: 'expired', finding: `The certificate of ${subject} expired on ${until}.`, fix: renew, subject }];
    case 'name': {
      const finding = `The certificate that ${subject} shows is for other names.`;
      return [{ fault: 'name', finding, fix: fixes.requestCertificate(name), subject }];
    }
    case 'chain': {
      const finding = `No trusted authority issued the certificate of ${subject} (${code}).`;
      return [{ fault: 'chain', finding, look: probes.certificate(name, port), subject }];
    }
    case 'expiring':
      return [{ fault: 'expiring', finding: `The certificate of ${subject} expires in ${days} days, on ${until}.`, fix: renew, subject }];
    default:
      return [];
  }
}

async function judge(host: Host, now: Date): Promise<Found<Fault>[]> {
  try {
    return certificateFault(host, await readCertificate(host.name, host.port, 3000), now);
  } catch {
    const address = `${host.name}:${host.port}`;
    return [{ fault: 'away', finding: `There is no TLS at ${address}.`, look: probes.address(`https://${address}/`), subject: address }];
  }
}

export const tlsCheck = check({
  id: 'tls',
  title: 'Certificates',
  inspects:
    'The certificates of an https `BASE_URL` and the first twenty verified custom domains, asked from here: chain (`NODE_EXTRA_CA_CERTS` counts), name, time left.',
  okText: 'Every certificate is trusted, matches its name and is valid for at least two weeks.',
  needs: null,
  variables: ['BASE_URL'],
  faults: {
    away: {
      level: 'problem',
      when: 'there is no TLS at the address',
      why: 'Nobody gets in over https.',
      mend: '`curl` at the address tells how; then the proxy that ends TLS',
    },
    expired: {
      level: 'problem',
      when: 'the certificate has expired',
      why: 'Browsers and clients refuse to connect.',
      mend: '`certbot renew`',
    },
    name: {
      level: 'problem',
      when: 'the certificate isn’t for the name',
      why: 'Browsers and clients refuse to connect.',
      mend: '`certbot certonly`, or the certificate that the proxy is given',
    },
    chain: {
      level: 'problem',
      when: 'no trusted authority issued the certificate, or an intermediate is missing',
      why: 'Clients refuse to connect; browsers that know the intermediate certificate hide that.',
      mend: 'serve the whole chain (`openssl s_client` shows what is served); `NODE_EXTRA_CA_CERTS` for an authority of your own',
    },
    expiring: {
      level: 'warning',
      when: 'the certificate has less than 14 days left',
      why: 'What renews it should have done so by now.',
      mend: '`certbot renew`',
    },
  },
  async run({ installation, database, hasSchema }) {
    const { protocol, hostname, port } = new URL(installation.config.baseUrl);
    if (protocol !== 'https:') return [];
    const domains = (await hasSchema()) ? await database((trx) => listAllVerifiedDomains(trx)) : [];
    const hosts: Host[] = [
      { name: hostname, port: Number(port || 443) },
      ...domains.slice(0, maxHosts).map(({ domain }) => ({ name: domain, port: 443 })),
    ];
    const now = installation.clock.now();
    return (await Promise.all(hosts.map((host) => judge(host, now)))).flat();
  },
});
