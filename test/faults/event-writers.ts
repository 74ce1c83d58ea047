// Twenty writers at two replicas, one of which is killed again and again: whoever follows the feed, by pages or as a stream, sees every event that was committed.
import assert from 'node:assert/strict';
import { addMachine } from '../support/data.js';
import { findApiResourceByIdentifier } from '../../src/db/tables/api_resources.js';
import { nextOf, pageOf, streamOf } from '../support/event-feed.js';
import { Api, managementToken, type Document } from '../support/management.js';
import { startReplica, type Replica } from '../support/replica.js';
import { eventually } from '../support/webhooks.js';
import { playDirectly, type Scenario } from './scenario.js';

const writers = 20;

export const eventWriters =
  ({ kills, roles }: { kills: number; roles: number }): Scenario =>
  async ({ url, secretKey, ctx }) => {
    const management = await findApiResourceByIdentifier(ctx.scope, ctx.environment.management_audience);
    assert.ok(management);
    const client = await addMachine(ctx, management);
    const settings = { BASE_URL: ctx.environment.base_url };
    const start = () => startReplica(url, secretKey, settings);
    const sound = await start();
    let doomed: Replica = await start();
    await ctx.db
      .knex('client_grants')
      .where({ client_id: client.id })
      .update({ scopes: ['events:read', 'roles:read', 'roles:write', 'permissions:read'] });
    const token = await managementToken(sound.url, client, { host: new URL(ctx.environment.base_url).host });
    const host = new URL(ctx.environment.base_url).host;
    const reader = new Api(sound.url, token, host);

    let cursor = nextOf(await pageOf(reader, 'now'));
    const stream = await streamOf(reader, `?page[after]=${cursor}`, { host });
    const paged: string[] = [];
    let written = 0;
    let done = false;

    const write = async (writer: number) => {
      for (let at = 0; at < roles; at++) {
        const target = (writer + at) % 2 === 0 ? sound : doomed;
        const body = { data: { type: 'role', attributes: { name: `writer ${writer} role ${at}` } } };
        // A request of the killed one has no answer: it may have been committed.
        await new Api(target.url, token, host).post('/roles', body).catch(() => null);
        written += 1;
      }
    };
    const kill = async () => {
      for (let times = 1; times <= kills; times++) {
        await eventually(async () => written >= (times * writers * roles) / (kills + 1));
        await doomed.end('SIGKILL');
        doomed = await start();
      }
    };
    const read = async () => {
      while (!done) {
        const page = await pageOf(reader, cursor);
        paged.push(...(page['data'] as Document[]).map((one) => one['id'] as string));
        cursor = nextOf(page);
      }
    };
    const reading = read();
    await Promise.all([kill(), ...Array.from({ length: writers }, (_, writer) => write(writer))]);

    const committed = (await ctx.db.knex('events').where({ event_type: 'role.created' }).select('id')) as { id: string }[];
    const streamed = () => stream.events().map(({ data }) => (JSON.parse(data) as { event_id: string }).event_id);
    const all = new Set(committed.map(({ id }) => id));
    const misses = (seen: readonly string[]) => [...all].filter((id) => !seen.includes(id));
    await eventually(async () => misses(paged).length === 0 && misses(streamed()).length === 0);
    done = true;
    await reading;
    assert.equal(new Set(paged).size, paged.length);
    assert.deepEqual(streamed().filter((id) => all.has(id)), paged.filter((id) => all.has(id))); // prettier-ignore
    stream.close();
    await Promise.all([sound.end('SIGTERM'), doomed.end('SIGTERM')]);
    return { kills, events: all.size, seen_by_pages: paged.length, seen_by_stream: streamed().length };
  };

await playDirectly(import.meta.url, eventWriters({ kills: 5, roles: 200 }));
