import { listProcesses } from '../../../db/tables/processes.js';
import { fixes } from '../../../lib/remedies.js';
import { check, type Found } from '../check.js';
import type { Installation } from '../installation.js';

type Fault = 'unsupported' | 'ended' | 'mixed' | 'addresses';

/** The releases of Node that this one runs on, with the last day of their security releases. */
const lines: readonly { readonly major: number; readonly minor: number; readonly end: string }[] = [
  { major: 20, minor: 19, end: '2026-04-30' },
  { major: 22, minor: 0, end: '2027-04-30' },
  { major: 24, minor: 0, end: '2028-04-30' },
];
/** Seconds for which a deployment may have two releases at work. */
const deployment = 900;

function nodeFaults({ clock }: Installation, node: string): Found<Fault>[] {
  const [major = 0, minor = 0] = node.split('.').map(Number);
  const release = lines.find((one) => one.major === major);
  const fix = fixes.installNode();
  if (major < 20 || major > 24 || (release && minor < release.minor))
    return [{ fault: 'unsupported', finding: `Node.js ${node} is not one that this release runs on (20.19 to 24).`, fix, subject: 'node' }];
  if (!release || clock.now().toISOString().slice(0, 10) > release.end)
    return [{ fault: 'ended', finding: `Node.js ${major} has reached the end of its life.`, fix, subject: 'node' }];
  return [];
}

export const versionsCheck = check({
  id: 'versions',
  title: 'Versions',
  inspects: 'The release of Node.js, and whether all processes have one release and one `BASE_URL`.',
  okText: 'Node.js is supported, and all processes run the same release.',
  needs: null,
  faults: {
    unsupported: {
      level: 'problem',
      when: 'Node.js is older than 20.19, or 25 and newer',
      why: 'The service was not tried with it and may fail anywhere.',
      mend: 'Node.js 24 (`nvm install 24`)',
    },
    ended: {
      level: 'notice',
      when: 'the time of the Node.js release is over, or it is an odd one',
      why: 'Security holes that are found in it stay open.',
      mend: 'Node.js 24 (`nvm install 24`)',
    },
    mixed: {
      level: 'warning',
      when: 'processes of different releases have been at work for more than 15 minutes',
      why: 'Two releases work side by side for a deployment; what the newer one writes the older one need not understand for good.',
      mend: 'deploy the same release everywhere',
    },
    addresses: {
      level: 'problem',
      when: 'processes have different `BASE_URL`s',
      why: 'Tokens of one are refused at the other, and each start renames the Management API.',
      mend: '`BASE_URL` of all processes alike',
    },
  },
  async run({ installation, database, hasSchema }) {
    const processes = (await hasSchema()) ? await database((trx) => listProcesses(trx)) : [];
    const nodes = [...new Set([installation.node, ...processes.map(({ node }) => node)])];
    const found = nodes.flatMap((node) => nodeFaults(installation, node));
    const now = installation.clock.now().getTime();
    const settled = processes.filter(({ started_at }) => now - started_at.getTime() > deployment * 1000);
    const releases = [...new Set(settled.map(({ release }) => release))];
    if (releases.length > 1)
      found.push({
        fault: 'mixed',
        finding: `Processes of the releases ${releases.join(' and ')} are at work: deploy the same one everywhere.`,
      });
    const addresses = [...new Set(processes.map(({ base_url }) => base_url))];
    if (addresses.length > 1)
      found.push({
        fault: 'addresses',
        finding: `Processes have different addresses: ${addresses.join(', ')}.`,
        fix: fixes.setVariable('BASE_URL', installation.config.baseUrl),
        subject: 'BASE_URL',
      });
    return found;
  },
});
