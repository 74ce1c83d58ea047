import { statfs } from 'node:fs/promises';
import { answersAt, nearestExisting } from '../../../db/postgres/embedded/inspect-data-directory.js';
import { probes } from '../../../lib/remedies.js';
import { check, type Found } from '../check.js';

const warnAt = 0.1;
const badAt = 0.02;

type Fault = 'full' | 'short';

/** What is wrong with a disk of which this share is free; `directory`: the nearest one to DATA_DIR that is there. */
export function diskFault(free: number, dataDir: string, directory: string): Found<Fault>[] {
  if (free >= warnAt) return [];
  const finding = `${(free * 100).toFixed(1)} % of the disk with DATA_DIR ${dataDir} are free.`;
  return [{ fault: free < badAt ? 'full' : 'short', finding, look: probes.diskUse(directory), subject: 'DATA_DIR' }];
}

export const diskCheck = check({
  id: 'disk',
  title: 'Disk',
  inspects: 'The free space where `DATA_DIR` is, or would be; not of a database elsewhere.',
  okText: 'DATA_DIR has enough disk space.',
  needs: null,
  variables: ['DATA_DIR'],
  faults: {
    full: {
      level: 'problem',
      when: 'less than 2 % are free',
      why: 'With a full disk the embedded database takes no writes: nobody can sign in. Logs and other programs stop too.',
      mend: '`du` shows what uses the space',
    },
    short: {
      level: 'warning',
      when: 'less than 10 % are free',
      why: 'With a full disk the embedded database takes no writes.',
      mend: '`du` shows what uses the space',
    },
  },
  async run({ installation: { config } }) {
    // What hangs is told by config.
    if (!(await answersAt(config.dataDir))) return [];
    const directory = await nearestExisting(config.dataDir);
    const { bavail, blocks } = await statfs(directory);
    return diskFault(blocks === 0 ? 1 : bavail / blocks, config.dataDir, directory);
  },
});
