import { X509Certificate } from 'node:crypto';
import { listWatchedSamlCertificates } from '../../../db/tables/saml_certificates.js';
import { listWatchedSamlConnections, type WatchedSamlConnection } from '../../../db/tables/saml_metadata.js';
import { providerInOptions } from '../../connections/saml-provider.js';
import { probes } from '../../../lib/remedies.js';
import { check, inEnvironment, recordSubject, type Found } from '../check.js';
import type { Installation } from '../installation.js';

const dayMs = 86_400_000;
const [warnDays, most] = [30, 100];

type Fault = 'expiring' | 'expired' | 'own_expiring' | 'pending' | 'unread';

/** When the last of a provider's certificates ends. Signatures are taken beyond it; a provider that still uses it is about to change it. */
function lastEnd({ options, certificates }: WatchedSamlConnection): Date | null {
  const pems = certificates ?? providerInOptions(options)?.certificates ?? [];
  const ends = pems.map((pem) => new Date(new X509Certificate(pem).validTo));
  return ends.toSorted((one, other) => other.getTime() - one.getTime())[0] ?? null;
}

function faultsOf(installation: Installation, connection: WatchedSamlConnection): Found<Fault>[] {
  const now = installation.clock.now();
  // Whether sign-ins through it fail already.
  const view = probes.checks(installation.command, 'connections');
  const { id, name, environment, pending, last_error, url } = connection;
  const who = `the connection ${JSON.stringify(name)}${inEnvironment(environment)}`;
  const subject = recordSubject(environment, 'connections', id);
  const found: Found<Fault>[] = [];
  const end = lastEnd(connection);
  const days = end && Math.floor((end.getTime() - now.getTime()) / dayMs);
  if (end && days !== null && days < warnDays)
    found.push({
      fault: days < 0 ? 'expired' : 'expiring',
      finding: `The last certificate of the provider of ${who} ${days < 0 ? 'ended' : 'ends'} on ${end.toISOString().slice(0, 10)}.`,
      look: view,
      subject,
    });
  if (pending)
    found.push({
      fault: 'pending',
      finding: `The metadata of the provider of ${who} names another entity ID or host by now.`,
      look: view,
      subject,
    });
  if (last_error !== null)
    found.push({
      fault: 'unread',
      finding: `The metadata of the provider of ${who} could not be read: ${last_error}.`,
      look: probes.address(url ?? ''),
      subject,
    });
  return found;
}

export const samlCheck = check({
  id: 'saml',
  title: 'SAML',
  inspects: 'The first hundred enabled SAML connections: certificates and metadata of their providers. And our own certificates.',
  okText: 'Certificates of SAML last, and metadata is as it was.',
  needs: 'schema',
  faults: {
    expiring: {
      level: 'warning',
      when: 'the last certificate of a provider ends within 30 days',
      why: 'The provider will sign with another one soon: whoever comes through it is then refused (`saml_invalid`).',
      mend: 'the new certificate beside the old one in `options`, or `idp_metadata_url`',
    },
    expired: {
      level: 'notice',
      when: 'the last certificate of a provider has ended',
      why: 'Signatures by its key are still taken, since the connection names it; many providers change it all the same.',
      mend: 'as for one that ends soon',
    },
    own_expiring: {
      level: 'warning',
      when: 'the environment’s own certificate ends within 90 days',
      why: 'Providers and applications that look at the date refuse what it signs.',
      mend: 'a new certificate, told to them before it signs',
    },
    pending: {
      level: 'warning',
      when: 'a provider’s metadata names another entity ID or host than the connection',
      why: 'It waits for an administrator: it may be a move, or somebody else’s doing. Until then the former provider counts.',
      mend: 'the dashboard’s “Accept new metadata” at the connection, once the provider’s administrators confirm it',
    },
    unread: {
      level: 'warning',
      when: 'a provider’s metadata could not be had or read',
      why: 'What was known counts; a new certificate is not noticed.',
      mend: 'the address in `idp_metadata_url`',
    },
  },
  async run({ installation, database }) {
    const { connections, own } = await database(async (trx) => ({
      connections: await listWatchedSamlConnections(trx, most),
      own: await listWatchedSamlCertificates(trx),
    }));
    const now = installation.clock.now();
    const ends = own.filter(({ status, expires_at }) => status === 'primary' && expires_at.getTime() - now.getTime() < 90 * dayMs);
    return [
      ...connections.flatMap((connection) => faultsOf(installation, connection)),
      ...ends.map(({ environment, expires_at }): Found<Fault> => {
        const finding = `The SAML certificate${inEnvironment(environment)} ends on ${expires_at.toISOString().slice(0, 10)}.`;
        return { fault: 'own_expiring', finding, look: probes.checks(installation.command, 'saml'), subject: 'saml_certificates' };
      }),
    ];
  },
});
