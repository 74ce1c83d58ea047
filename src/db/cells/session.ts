import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';

/** Looks at the lock, a quarter of a second apart: what a killed mover was doing may still be ending. */
const patience = 20;

const takesLock = async (client: pg.Client): Promise<boolean> => {
  const { rows } = await client.query<{ mine: boolean }>(`select pg_try_advisory_lock(hashtextextended('environments move', 0)) as mine`);
  return rows[0]?.mine ?? false;
};

/** Opens a database for somebody who moves or removes environments: one at a time, until the connection ends. A killed mover's last statement ends first. */
export async function openAlone(connectionString: string): Promise<pg.Client | null> {
  const client = new pg.Client({ connectionString, keepAlive: true, application_name: 'idp environments move' });
  // A connection that is lost is told by the statement that it is lost with.
  client.on('error', () => undefined);
  await client.connect();
  for (let left = patience; !(await takesLock(client)); left--) {
    if (left > 0) await delay(250);
    else {
      await client.end();
      return null;
    }
  }
  await client.query('set client_min_messages = warning');
  return client;
}
