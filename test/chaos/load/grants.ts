import type { Stage } from '../stage.js';
import { standingOf } from '../requests.js';
import { either, other, pause, type Actor, type ReplicaName, type World } from '../world.js';
import type { Random } from '../random.js';
import { authorize, redeem, signIn, userinfo, type Code, type SignedIn } from './sign-in.js';

/** A refresh token in use: what it is, of which grant, and an access token beside it. */
type Grant = { readonly family: string; readonly refresh: string; readonly access: string };

/** Later than a rotated token may be repeated, with the checker's slack. */
const lateMs = 32_000;

/**
 * Codes and refresh tokens: redeemed once, twice at the same moment, or again later; repeated after an unknown answer; refreshed alone, by two at once, and
 * again within and after the tolerance; revoked.
 */
export function grants(stage: Stage): Actor {
  const { app, redirectUri, person } = stage;
  const user = `user:${person.email}`;

  /** Redeems a code in one of the ways that clients do, and some don't. */
  async function spend(world: World, random: Random, code: Code): Promise<Grant | null> {
    const replica = either(random);
    const tries = [redeem(world, replica, code, app, redirectUri)];
    const twice = random.chance(0.3);
    if (twice) tries.push(redeem(world, other(replica), code, app, redirectUri));
    let answers = await Promise.all(tries);
    for (let again = 0; again < 2 && answers.every(({ outcome }) => outcome === 'unknown'); again++) {
      await pause(random, 100, 1500);
      answers = [await redeem(world, either(random), code, app, redirectUri)];
    }
    const accepted = answers.find(({ outcome }) => outcome === 'ok')?.answer.body;
    if (random.chance(0.4)) {
      await pause(random, 0, 1500);
      await redeem(world, either(random), code, app, redirectUri);
    }
    return accepted ? { family: code.code, refresh: String(accepted['refresh_token']), access: String(accepted['access_token']) } : null;
  }

  async function refresh(world: World, replica: ReplicaName, { family, refresh: token }: Grant): Promise<Grant | null> {
    const form = { grant_type: 'refresh_token', client_id: app.id, refresh_token: token };
    const { outcome, answer } = await world.recorder.record(
      { kind: 'refresh', replica },
      () => world.send(replica, { path: '/oauth/token', form }),
      (given) => {
        const successor = given.status === 200 ? String(given.body['refresh_token']) : null;
        return {
          outcome: standingOf(given),
          uses: [`refresh:${token}`, `family:${family}`, user],
          presents: { token, family, successor },
          ...(successor === null ? {} : { issues: [`token:${given.body['access_token']}`, `refresh:${successor}`] }),
        };
      },
    );
    return outcome === 'ok' ? { family, refresh: String(answer.body['refresh_token']), access: String(answer.body['access_token']) } : null;
  }

  async function revoke(world: World, random: Random, grant: Grant): Promise<void> {
    const whole = random.chance(0.5);
    const form = { client_id: app.id, token: whole ? grant.refresh : grant.access };
    const replica = either(random);
    await world.recorder.record(
      { kind: 'revoke', replica },
      () => world.send(replica, { path: '/oauth/revoke', form }),
      (answer) => ({ outcome: standingOf(answer), withdraws: whole ? `family:${grant.family}` : `token:${grant.access}` }),
    );
  }

  /** A few steps of one grant. Old tokens that are worth presenting again much later go to `old`. */
  async function live(world: World, random: Random, first: Grant, old: { at: number; grant: Grant }[]): Promise<void> {
    let grant = first;
    for (let steps = random.between(1, 6); steps > 0 && !world.over(); steps--) {
      const replica = either(random);
      const both = random.chance(0.3);
      const answers = await Promise.all([refresh(world, replica, grant), ...(both ? [refresh(world, other(replica), grant)] : [])]);
      let next = answers.find((one) => one !== null) ?? null;
      if (next === null || random.chance(0.3)) {
        await pause(random, 50, 2000);
        next = (await refresh(world, either(random), grant)) ?? next;
      }
      if (next === null) break;
      if (random.chance(0.1)) old.push({ at: world.recorder.now() + lateMs, grant });
      grant = next;
      await userinfo(world, either(random), grant.access, grant.family, user);
      await pause(random, 10, 100);
    }
    if (!random.chance(0.3)) return;
    await revoke(world, random, grant);
    await pause(random, 900, 1300);
    await refresh(world, either(random), grant);
    for (const replica of ['A', 'B'] as const) await userinfo(world, replica, grant.access, grant.family, user);
  }

  return async (world, random) => {
    let signedIn: SignedIn | null = null;
    const old: { at: number; grant: Grant }[] = [];
    while (!world.over()) {
      await pause(random, 20, 120);
      signedIn ??= await signIn(world, either(random), person, user);
      if (signedIn === null) continue;
      while ((old[0]?.at ?? Infinity) < world.recorder.now()) {
        const { grant } = old.shift() as { grant: Grant };
        await refresh(world, either(random), grant);
        await pause(random, 1000, 1100);
        await userinfo(world, either(random), grant.access, grant.family, user);
      }
      const code = await authorize(world, either(random), signedIn, app, redirectUri);
      const grant = code && (await spend(world, random, code));
      if (grant) await userinfo(world, either(random), grant.access, grant.family, user);
      if (grant) await live(world, random, grant, old);
    }
  };
}
