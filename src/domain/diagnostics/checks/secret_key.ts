import { join } from 'node:path';
import { readInDataDirectory } from '../../../db/postgres/embedded/inspect-data-directory.js';
import { countSealedByColumn, sampleSealed, sealedColumns } from '../../../db/tables/sealed_columns.js';
import { createSealer, SealError, type Aad, type Sealer } from '../../../lib/seal.js';
import { fixes, type Fix } from '../../../lib/remedies.js';
import { check, type Found, type CheckContext } from '../check.js';
import { isOpenDatabase } from '../installation.js';

type Fault = 'unopened' | 'altered' | 'previous' | 'unknown';
type Sample = { readonly aad: Aad; readonly sealed: Buffer };

const samples = 5;

function opens(sealer: Sealer, { aad, sealed }: Sample): boolean {
  try {
    sealer.open(sealed, aad);
    return true;
  } catch (error) {
    if (error instanceof SealError) return false;
    throw error;
  }
}

/** The way back to the key that sealed: the file that the embedded database's first key is in, if that opens; else the variable. */
async function fixFor({ installation }: CheckContext, closed: readonly Sample[]): Promise<Fix> {
  const file = join(installation.config.dataDir, 'secret.key');
  const key = await readInDataDirectory(installation.config.dataDir, 'secret.key');
  const inFile = key !== null && closed.every((one) => opens(createSealer(key.trim()), one));
  if (!inFile) return fixes.variable('SECRET_KEY_PREVIOUS');
  return installation.config.databaseUrl === null ? fixes.unsetVariables('SECRET_KEY') : fixes.setVariableFromFile('SECRET_KEY', file);
}

async function unopened(context: CheckContext, sealer: Sealer): Promise<Found<Fault>[]> {
  const { counts, sampled } = await context.database(async (trx) => {
    const all: Sample[] = [];
    for (const column of sealedColumns) all.push(...(await sampleSealed(trx, column, samples)));
    return { counts: await countSealedByColumn(trx), sampled: all };
  });
  const closed = sampled.filter((one) => !opens(sealer, one));
  const unlisted = counts.filter(({ key_id }) => key_id !== 'unnamed' && !sealer.key_ids.includes(key_id));
  const fix = closed.length > 0 || unlisted.length > 0 ? await fixFor(context, closed) : null;
  const lost = unlisted.map(({ table, key_id, count }): Found<Fault> => {
    const finding = `${count} values in ${table} need the key ${key_id}; given are ${sealer.key_ids.join(', ')}.`;
    return { fault: 'unopened', finding, fix, subject: fix === fixes.variable('SECRET_KEY_PREVIOUS') ? fix : 'SECRET_KEY' };
  });
  if (lost.length > 0) return lost;
  const [first] = closed;
  if (first) {
    const table = first.aad.slice(0, first.aad.indexOf('/'));
    return [{ fault: 'altered', finding: `A value in ${table} is opened by none of the keys.`, fix, subject: 'SECRET_KEY_PREVIOUS' }];
  }
  const earlier = counts.filter(({ key_id }) => key_id !== sealer.key_id).reduce((sum, { count }) => sum + count, 0);
  if (earlier === 0) return [];
  const finding = `${earlier} values are still sealed with an earlier key.`;
  return [{ fault: 'previous', finding, fix: fixes.rekey(context.installation.command), subject: 'SECRET_KEY_PREVIOUS' }];
}

export const secretKeyCheck = check({
  id: 'secret_key',
  title: 'Secret key',
  inspects: 'Which key sealed each value, and whether the five newest of each column open.',
  okText: 'Everything is sealed with SECRET_KEY and can be opened.',
  needs: 'schema',
  variables: ['SECRET_KEY', 'SECRET_KEY_PREVIOUS'],
  faults: {
    unopened: {
      level: 'problem',
      when: 'values are sealed with a key in neither `SECRET_KEY` nor `SECRET_KEY_PREVIOUS`',
      why: 'Without signing keys the service doesn’t start; webhooks, connections and authenticator apps whose secret doesn’t open don’t work.',
      mend: 'that key as `SECRET_KEY`, or in `SECRET_KEY_PREVIOUS`',
    },
    altered: {
      level: 'problem',
      when: 'a value opens with no key, though it names one of them or none',
      why: 'It was sealed with a key of an earlier release that isn’t listed, or was changed in the database.',
      mend: '`SECRET_KEY_PREVIOUS`, or create that secret again',
    },
    previous: {
      level: 'warning',
      when: 'values are still sealed with an earlier key',
      why: 'SECRET_KEY_PREVIOUS is still needed; a running service seals them anew by itself.',
      mend: '`npm run -s rekey`',
    },
    unknown: {
      level: 'problem',
      when: 'no key is set',
      why: 'Nothing that is sealed can be opened: the service does not start.',
      mend: '`SECRET_KEY`',
    },
  },
  async run(context) {
    const { database, config } = context.installation;
    if (!isOpenDatabase(database)) return [];
    if (database.sealer !== null) return unopened(context, database.sealer);
    const file = join(config.dataDir, 'secret.key');
    return [
      {
        fault: 'unknown',
        finding: `SECRET_KEY is not set, and ${file} is missing.`,
        fix: fixes.variable('SECRET_KEY'),
        subject: 'SECRET_KEY',
      },
    ];
  },
});
