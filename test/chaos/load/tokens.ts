import type { Stage, StageClient } from '../stage.js';
import { standingOf } from '../requests.js';
import type { Random } from '../random.js';
import { either, pause, type Actor, type ReplicaName, type World } from '../world.js';

/** A token of a machine and what it stands on. */
export type MachineToken = { readonly token: string; readonly uses: readonly string[] };

/** The key that signed a JWT, as a subject; none of an opaque token. */
function keyOf(token: string): string[] {
  const [head, payload] = token.split('.');
  if (head === undefined || payload === undefined) return [];
  const { kid } = JSON.parse(Buffer.from(head, 'base64url').toString()) as { kid: string };
  return [`key:${kid}`];
}

/** Asks for a token by client credentials; null when there is none. */
export async function issue(world: World, replica: ReplicaName, client: StageClient, resource: string): Promise<MachineToken | null> {
  const { outcome, answer } = await world.recorder.record(
    { kind: 'issue token', replica },
    () =>
      world.send(replica, {
        path: '/oauth/token',
        headers: { authorization: client.authorization },
        form: { grant_type: 'client_credentials', resource },
      }),
    (given) => ({
      outcome: standingOf(given),
      uses: [`client:${client.id}`],
      ...(given.status === 200 ? { issues: [`token:${given.body['access_token']}`] } : {}),
    }),
  );
  if (outcome !== 'ok') return null;
  const token = String(answer.body['access_token']);
  return { token, uses: [`token:${token}`, `client:${client.id}`, ...keyOf(token)] };
}

/** Asks whether a token is active: `refused` when it is not. */
export async function look(world: World, replica: ReplicaName, asking: StageClient, { token, uses }: MachineToken): Promise<void> {
  await world.recorder.record(
    { kind: 'introspect', replica },
    () => world.send(replica, { path: '/oauth/introspect', headers: { authorization: asking.authorization }, form: { token } }),
    (answer) => ({ outcome: answer.status !== 200 ? 'unknown' : answer.body['active'] === true ? 'ok' : 'refused', uses }),
  );
}

export async function revoke(world: World, replica: ReplicaName, client: StageClient, { token }: MachineToken): Promise<void> {
  await world.recorder.record(
    { kind: 'revoke', replica },
    () => world.send(replica, { path: '/oauth/revoke', headers: { authorization: client.authorization }, form: { token } }),
    (answer) => ({ outcome: standingOf(answer), withdraws: `token:${token}` }),
  );
}

/** Tokens of machines, opaque and JWT: issued, looked at along the way and at the end, revoked and looked at again. `issued` keeps them for the end. */
export function tokens(stage: Stage, issued: MachineToken[]): Actor {
  const { machine } = stage;
  async function step(world: World, random: Random): Promise<void> {
    const fresh = await issue(world, either(random), machine, random.chance(0.7) ? stage.opaque : stage.jwt);
    if (fresh) issued.push(fresh);
    if (issued.length === 0) return;
    const token = random.pick(issued);
    await look(world, either(random), machine, token);
    if (!random.chance(0.2)) return;
    await revoke(world, either(random), machine, token);
    await pause(random, 950, 1100);
    for (const replica of ['A', 'B'] as const) await look(world, replica, machine, token);
  }
  return async (world, random) => {
    while (!world.over()) {
      await step(world, random);
      await pause(random, 20, 150);
    }
  };
}
