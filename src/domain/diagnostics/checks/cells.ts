import { listHeldEnvironments } from '../../../db/cells/held.js';
import { listEnvironments } from '../../../db/tables/environments.js';
import { probes } from '../../../lib/remedies.js';
import { createGuardedFetch } from '../../../platform/fetch/fetch.js';
import { baseUrlOf } from '../../environments/environments.js';
import { check, type Found } from '../check.js';
import type { Installation } from '../installation.js';

type Fault = 'held' | 'elsewhere';

/** Seconds: a move holds an environment for three. */
const longest = 60;
/** Environments whose addresses are asked. */
const most = 50;
const path = '/.well-known/openid-configuration';

/** The addresses that another cell answers for. They are the operator's own: they may be private ones. */
async function elsewhere({ config }: Installation, slugs: readonly { slug: string; is_default: boolean }[]): Promise<Found<Fault>[]> {
  const fetch = createGuardedFetch({ allowPrivateNetwork: true });
  const ask = async (row: { slug: string; is_default: boolean }): Promise<Found<Fault>[]> => {
    const address = baseUrlOf(config, row);
    const status = await fetch.request(`${address}${path}`, { timeoutMs: 3000 }).then(
      (answer) => answer.status,
      () => null,
    );
    if (status !== 421) return [];
    const finding = `${address} is answered by another cell than ${config.cell}, where environment ${row.slug} is.`;
    return [{ fault: 'elsewhere', finding, look: probes.address(address + path), subject: `environments/${row.slug}` }];
  };
  try {
    return (await Promise.all(slugs.slice(0, most).map(ask))).flat();
  } finally {
    await fetch.close();
  }
}

export const cellsCheck = check({
  id: 'cells',
  title: 'Cells',
  inspects: 'Environments that are held, and with `CELL` which cell answers at the addresses of its environments (of the first 50).',
  okText: 'No environment is held for long, and each is answered here.',
  needs: 'schema',
  variables: ['BASE_URL', 'CELL'],
  faults: {
    held: {
      level: 'problem',
      when: 'an environment has been held for more than 60 seconds',
      why: 'All its requests are answered 503: whatever was moving it has ended in between.',
      mend: '`npm run -s cli -- environments move <slug> --to <url>`, which goes on, or the same with `--abort`',
    },
    elsewhere: {
      level: 'problem',
      when: 'the proxy leads an environment’s address to another cell (421)',
      why: 'Nobody reaches the environment.',
      mend: 'the map of the proxy in front',
    },
  },
  async run({ installation, database }) {
    const { held, rows } = await database(async (trx) => ({ held: await listHeldEnvironments(trx), rows: await listEnvironments(trx) }));
    const stuck = held.filter(({ seconds }) => seconds > longest);
    return [
      ...stuck.map(({ slug, seconds }) => ({
        fault: 'held' as const,
        finding: `Environment ${slug} has been held for ${Math.round(seconds)} seconds.`,
        look: probes.checks(installation.command, 'loops'),
        subject: `environments/${slug}`,
      })),
      ...(installation.config.cell === null
        ? []
        : await elsewhere(
            installation,
            rows.filter(({ moved_at }) => moved_at === null),
          )),
    ];
  },
});
