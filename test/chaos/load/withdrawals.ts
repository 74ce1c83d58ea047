import { clientOf, grantDocument, machineDocument, password, type Stage } from '../stage.js';
import { outcomeOf, standingOf, type Answer, type Request } from '../requests.js';
import type { Random } from '../random.js';
import { documentOf, either, pause, type Actor, type World } from '../world.js';
import { authorize, redeem, signIn, userinfo } from './sign-in.js';
import { issue, look, type MachineToken } from './tokens.js';

/** Tries a change of the Management API until it is answered, a few times. Each try is recorded as a withdrawal of the subject. */
async function withdraw(
  world: World,
  random: Random,
  subject: string,
  request: Request,
  aspects: (answer: Answer) => object = () => ({}),
): Promise<boolean> {
  for (let tries = 0; tries < 4; tries++) {
    const replica = either(random);
    const { outcome } = await world.recorder.record(
      { kind: `withdraw ${subject.split(':')[0] ?? ''}`, replica },
      () => world.manage(replica, request),
      (answer) => ({ outcome: standingOf(answer), withdraws: subject, ...aspects(answer) }),
    );
    if (outcome !== 'unknown') return outcome === 'ok';
    await pause(random, 200, 1500);
  }
  return false;
}

/** Waits until what was withdrawn must be refused, more or less: what comes earlier may be answered either way. */
const grace = (random: Random) => pause(random, 800, 1200);

/** Clients that are made, used, and disabled: no new token, and the old ones are inactive. */
export function clients(stage: Stage): Actor {
  return async (world, random) => {
    for (let count = 1; !world.over(); count++) {
      await pause(random, 500, 1500);
      const replica = either(random);
      const json = machineDocument(`Client ${count}`, { token_rate_limit: 1_000_000 });
      const made = await world.recorder.record(
        { kind: 'create client', replica },
        () => world.manage(replica, { path: '/api/clients', json }),
        (answer) => ({ outcome: outcomeOf(answer), ...(answer.status === 201 ? { issues: [`client:${answer.body['data'].id}`] } : {}) }),
      );
      if (made.outcome !== 'ok') continue;
      const { id, attributes } = made.answer.body['data'] as { id: string; attributes: { client_secret: string } };
      const granted = await world.manage(either(random), { path: '/api/client_grants', json: grantDocument(id, stage.apis.opaque) });
      if (granted.status !== 201) continue;
      const client = clientOf(id, attributes.client_secret);
      const token = await issue(world, either(random), client, stage.opaque);
      if (token) await look(world, either(random), stage.machine, token);
      const disabled = documentOf('client', { status: 'disabled' }, undefined, id);
      if (!(await withdraw(world, random, `client:${id}`, { method: 'PATCH', path: `/api/clients/${id}`, json: disabled }))) continue;
      for (let times = 0; times < 2; times++) {
        await grace(random);
        for (const one of ['A', 'B'] as const) {
          await issue(world, one, client, stage.opaque);
          if (token) await look(world, one, stage.machine, token);
        }
      }
    }
  };
}

/** People who are made, sign in, and are blocked: session, tokens and sign-in end. */
export function blocked(stage: Stage): Actor {
  return async (world, random) => {
    for (let count = 1; !world.over(); count++) {
      await pause(random, 500, 1500);
      const email = `blocked-${count}@example.com`;
      const [user, record, value] = [`user:${email}`, `user:${email}`, `blocked ${count}`];
      const replica = either(random);
      const made = await world.recorder.record(
        { kind: 'create user', replica },
        () => world.manage(replica, { path: '/api/users', json: documentOf('user', { email, last_name: value, password }) }),
        (answer) => ({ outcome: outcomeOf(answer), issues: [user], writes: { record, value, event_type: 'user.created' } }),
      );
      if (made.outcome !== 'ok') continue;
      const id = String(made.answer.body['data'].id);
      const signedIn = await signIn(world, either(random), { email, password }, user);
      const code = signedIn && (await authorize(world, either(random), signedIn, stage.app, stage.redirectUri));
      const redeemed = code && (await redeem(world, either(random), code, stage.app, stage.redirectUri));
      const token = redeemed?.outcome === 'ok' ? String(redeemed.answer.body['access_token']) : null;
      if (code && token !== null) await userinfo(world, either(random), token, code.code, user);
      // It is told as a change of the user, whose name stays as it was.
      const told = () => ({ writes: { record, value, event_type: 'user.updated' } });
      if (!(await withdraw(world, random, user, { method: 'PATCH', path: `/api/users/${id}/block` }, told))) continue;
      await grace(random);
      for (const one of ['A', 'B'] as const) {
        if (code && token !== null) await userinfo(world, one, token, code.code, user);
        if (signedIn) await authorize(world, one, signedIn, stage.app, stage.redirectUri);
      }
      await signIn(world, either(random), { email, password }, user);
    }
  };
}

/** The key that signs next, made if there is none; null when nobody answers. */
async function nextKey(world: World, random: Random): Promise<string | null> {
  const found = await world.manage(either(random), { path: '/api/signing_keys?filter[status]=next' });
  const [next] = found.status === 200 ? (found.body['data'] as { id: string }[]) : [];
  if (next) return next.id;
  const made = await world.manage(either(random), { path: '/api/signing_keys', json: documentOf('signing_key', {}) });
  return made.status === 201 ? String(made.body['data'].id) : null;
}

/** Signing keys that sign for a while and are deactivated: what they signed is refused. */
export function keys(stage: Stage): Actor {
  const { machine, jwt } = stage;
  async function activateNext(world: World, random: Random): Promise<string | null> {
    const kid = await nextKey(world, random);
    if (kid === null) return null;
    const answer = await world.manage(either(random), { method: 'PATCH', path: `/api/signing_keys/${kid}/activate` });
    return answer.status === 200 ? kid : null;
  }
  return async (world, random) => {
    let primary = await activateNext(world, random);
    while (!world.over()) {
      await pause(random, 3000, 9000);
      const signed: MachineToken[] = [];
      for (const replica of ['A', 'B', 'A', 'B'] as const) {
        const token = await issue(world, replica, machine, jwt);
        if (token) signed.push(token);
      }
      const successor = await activateNext(world, random);
      if (successor === null) continue;
      const old = primary;
      primary = successor;
      if (old === null || old === successor) continue;
      await pause(random, 200, 1500);
      if (!(await withdraw(world, random, `key:${old}`, { method: 'PATCH', path: `/api/signing_keys/${old}/deactivate` }))) continue;
      await grace(random);
      for (const token of signed) for (const replica of ['A', 'B'] as const) await look(world, replica, machine, token);
    }
  };
}
