import {
  listWatchedDirectories,
  listWatchedDomains,
  type WatchedDirectory,
  type WatchedDomain,
} from '../../../db/tables/watched_organizations.js';
import { check, inEnvironment, recordSubject, type Found } from '../check.js';

const dayMs = 86_400_000;
const [idleDays, most, lastRequests] = [30, 100, 10];

type Fault = 'domain_missing' | 'domain_failed' | 'directory_idle' | 'directory_failing';

function faultOfDomain({ id, domain, organization, environment, status, missing_since }: WatchedDomain): Found<Fault> {
  const who = `the domain ${domain} of the organization ${organization}${inEnvironment(environment)}`;
  const subject = recordSubject(environment, 'organization_domains', id);
  if (status === 'failed') return { fault: 'domain_failed', finding: `The record that proves ${who} was missing for two weeks.`, subject };
  const since = missing_since === null ? '' : ` since ${missing_since.toISOString().slice(0, 10)}`;
  return { fault: 'domain_missing', finding: `The record that proves ${who} has been missing${since}.`, subject };
}

function faultsOfDirectory({ id, organization, environment, heard_at, statuses }: WatchedDirectory, now: Date): Found<Fault>[] {
  const who = `directory of the organization ${organization}${inEnvironment(environment)}`;
  const subject = recordSubject(environment, 'directories', id);
  if (now.getTime() - heard_at.getTime() > idleDays * dayMs)
    return [{ fault: 'directory_idle', finding: `The ${who} has sent nothing since ${heard_at.toISOString().slice(0, 10)}.`, subject }];
  if (statuses.length < lastRequests || statuses.some((one) => one < 400)) return [];
  return [{ fault: 'directory_failing', finding: `The last ${lastRequests} requests of the ${who} were refused.`, subject }];
}

export const organizationsCheck = check({
  id: 'organizations',
  title: 'Organizations',
  inspects: 'The first hundred domains and directories of enabled organizations: their last look-ups and requests.',
  okText: 'Domains of organizations are proven, and their directories are heard of.',
  needs: 'schema',
  faults: {
    domain_missing: {
      level: 'warning',
      when: 'the TXT record of a verified domain was missing when it was last looked up',
      why: 'After two weeks without it the domain fails: people there no longer come in by it, and its directory no longer speaks for them.',
      mend: 'the record, as the domain’s page shows it, in the DNS of the organization',
    },
    domain_failed: {
      level: 'warning',
      when: 'the TXT record of a domain was missing for two weeks',
      why: 'The organization’s connections and directory no longer speak for addresses there.',
      mend: 'the record, then `PATCH /api/organization_domains/{id}/verify`; delete a domain that is no longer theirs',
    },
    directory_idle: {
      level: 'notice',
      when: 'an enabled directory has sent nothing for 30 days',
      why: 'Who leaves the organization stays a member here, unless its provider really had nothing to tell.',
      mend: 'provisioning at the organization’s provider: stopped there, or with an earlier token',
    },
    directory_failing: {
      level: 'warning',
      when: 'the last ten requests of a directory were refused',
      why: 'People and groups are as they were before; who left is still a member.',
      mend: 'the last requests on the directory’s page; often an unverified domain',
    },
  },
  async run({ installation, database }) {
    const { domains, directories } = await database(async (trx) => ({
      domains: await listWatchedDomains(trx, most),
      directories: await listWatchedDirectories(trx, most, lastRequests),
    }));
    const now = installation.clock.now();
    return [...domains.map(faultOfDomain), ...directories.flatMap((one) => faultsOfDirectory(one, now))];
  },
});
