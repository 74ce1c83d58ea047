import { listEnvironments } from '../../../db/tables/environments.js';
import { listWatchedSigningKeys, type WatchedSigningKey } from '../../../db/tables/signing_keys.js';
import { keyCondition } from '../../health/health.js';
import { fixes, probes } from '../../../lib/remedies.js';
import { check, cliOn, recordSubject, inEnvironment, type Found } from '../check.js';
import type { Installation } from '../installation.js';

type Fault = 'missing' | 'old' | 'no_next' | 'waiting';

type Pair = { readonly environment: string; readonly algorithm: string; readonly keys: readonly WatchedSigningKey[] };

function faultsOf(installation: Installation, { environment, algorithm, keys }: Pair): Found<Fault>[] {
  const primary = keys.find(({ status }) => status === 'primary');
  const next = keys.find(({ status }) => status === 'next');
  const whose = `${algorithm} key${inEnvironment(environment)}`;
  if (!primary) return [{ fault: 'missing', finding: `There is no primary ${whose}.`, fix: fixes.start(), subject: 'signing_keys' }];
  const condition = keyCondition(keys, installation.clock.now());
  if (condition === null) return [];
  const { fault, days, expected_at } = condition;
  const subject = recordSubject(environment, 'signing_keys', primary.kid);
  const cli = cliOn(installation, environment);
  if (!next || expected_at === null) {
    const finding = `The primary ${whose} has signed for ${days} days, and there is no next one.`;
    return [{ fault, finding, fix: fixes.createSigningKey(cli, algorithm), subject }];
  }
  if (fault === 'waiting') {
    const finding = `The primary ${whose} has signed for ${days} days; the next one takes over after ${expected_at.toISOString().slice(0, 16)}Z.`;
    return [{ fault, finding, look: probes.checks(installation.command, 'loops'), subject }];
  }
  const finding = `The primary ${whose} has signed for ${days} days, though the next one waits.`;
  return [{ fault, finding, fix: fixes.activateSigningKey(cli, next.kid), subject }];
}

export const signingKeysCheck = check({
  id: 'signing_keys',
  title: 'Signing keys',
  inspects: 'The primary and next keys of each environment and algorithm.',
  okText: 'Signing keys rotate on time.',
  needs: 'schema',
  faults: {
    missing: {
      level: 'problem',
      when: 'an environment has no primary key for an algorithm that it signs with',
      why: 'No token can be signed with it.',
      mend: '`npm start` makes the RS256 key',
    },
    old: {
      level: 'warning',
      when: 'the primary key has signed for over 100 days, and there is no next key or it has waited for over a day',
      why: 'Keys change over every 90 days by themselves: the loop that does it has stopped (see loops), or the service was down for a long time.',
      mend: '`npm run -s cli -- signing_keys create` (signs a day later); `signing_keys activate <kid>` for one that waits',
    },
    no_next: {
      level: 'warning',
      when: 'the primary key has signed for more than 90 days, and there is no next key',
      why: 'The next key should have been published a day before: verifiers have to see it before it signs.',
      mend: '`npm run -s cli -- signing_keys create`',
    },
    waiting: {
      level: 'notice',
      when: 'the primary key is over 100 days old, the next one under a day',
      why: 'The service lets the next key sign when verifiers have had a day to see it.',
      mend: 'nothing, as long as the loop `signing_keys` is well',
    },
  },
  async run({ installation, database }) {
    const { environments, keys } = await database(async (trx) => ({
      environments: await listEnvironments(trx),
      keys: await listWatchedSigningKeys(trx),
    }));
    return environments.flatMap(({ slug: environment, signing_algorithms }) =>
      signing_algorithms.flatMap((algorithm) => {
        const own = keys.filter((key) => key.environment === environment && key.algorithm === algorithm);
        return faultsOf(installation, { environment, algorithm, keys: own });
      }),
    );
  },
});
