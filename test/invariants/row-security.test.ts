import { expect, test } from 'vitest';
import { transaction } from '../../src/domain/context.js';
import { run } from '../../src/db/scope.js';
import { addEnvironment, addUser } from '../support/data.js';
import { takeReached } from '../support/row-guard.js';
import { contextOf, shared, sharedService } from '../support/shared-service.js';

const service = sharedService();
const own = contextOf(service);
const foreign = shared(() => addEnvironment(service.deps, 'staging'));

/** Statements as somebody writes them who forgets the environment. */
const forgetful = {
  'a named look-up': (id: string) =>
    run(
      foreign.scope,
      { name: 'forgetful.look_up', text: 'select 1 from users where $1::uuid is not null and id = $2', short: 'look_up' },
      [id],
    ),
  'a named write': (id: string) =>
    run(
      foreign.scope,
      { name: 'forgetful.write', text: 'delete from users where $1::uuid is not null and id = $2', short: { kind: 'write', key: 2 } },
      [id],
    ),
  'a query of the builder': (id: string) => foreign.scope.knex('users').where({ id }),
  'an update of the builder': (id: string) => foreign.scope.knex('users').where({ id }).update({ first_name: 'Eve' }),
  'an insertion': (id: string) =>
    run(
      foreign.scope,
      {
        name: 'forgetful.insert',
        text: `insert into devices (environment_id, id, user_id, browser_digest, last_used_at, created_at, expires_at) select environment_id, id, id, '', now(), now(), now() from users where $1::uuid is not null and id = $2`,
      },
      [id],
    ),
  'a statement of a transaction': (id: string) => transaction(foreign, (tx) => tx.scope.knex('users').where({ id }).delete()),
  'a join': (id: string) =>
    run(foreign.scope, { name: 'forgetful.join', text: 'select u.id from environments e, users u where e.id = $1 and u.id = $2' }, [id]),
};

test.each(Object.entries(forgetful))('%s that forgets the environment is refused by the database', async (_, statement) => {
  const { id } = await addUser(own);
  await expect(Promise.resolve(statement(id))).rejects.toThrow('reaches a row of environment');
  expect(takeReached()).toHaveLength(1);
  expect(await own.db.knex('users').where({ id })).toHaveLength(1);
});

test('a statement that names its environment passes, and so does work on all of them', async () => {
  const [mine, theirs] = [await addUser(own), await addUser(foreign)];
  expect(await foreign.scope.knex('users').where({ environment_id: foreign.environment.id })).toMatchObject([{ id: theirs.id }]);
  expect(await own.db.knex('users').whereIn('id', [mine.id, theirs.id])).toHaveLength(2);
});
