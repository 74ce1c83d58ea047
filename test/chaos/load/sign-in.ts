import { pkcePair } from '../../support/browser.js';
import { outcomeOf, standingOf, type Answer } from '../requests.js';
import type { Recorded } from '../recorder.js';
import type { StageClient } from '../stage.js';
import type { ReplicaName, World } from '../world.js';

/** A person who is signed in: the cookie, and the session as a subject. */
export type SignedIn = { readonly cookie: string; readonly session: string; readonly user: string };

export type Code = { readonly code: string; readonly verifier: string; readonly user: string };

const list = (header: string | string[] | undefined): readonly string[] => (header === undefined ? [] : [header].flat());

/** Signs in; null when the answer isn't ok. @param user the person as a subject */
export async function signIn(
  world: World,
  replica: ReplicaName,
  person: { email: string; password: string },
  user: string,
): Promise<SignedIn | null> {
  const session = (answer: Answer) =>
    list(answer.headers['set-cookie'])
      .find((one) => one.startsWith('idp_session='))
      ?.split(';')[0] ?? '';
  const { outcome, answer } = await world.recorder.record(
    { kind: 'sign in', replica },
    () => world.send(replica, { path: '/login', json: person, headers: { accept: 'application/json' } }),
    (given) => ({ outcome: standingOf(given), uses: [user], issues: [`session:${session(given)}`] }),
  );
  return outcome === 'ok' ? { cookie: session(answer), session: `session:${session(answer)}`, user } : null;
}

/** Asks for a code; null when there is none. An answer that leads to the sign-in says that the session is not in force. */
export async function authorize(
  world: World,
  replica: ReplicaName,
  { cookie, session, user }: SignedIn,
  client: StageClient,
  redirect_uri: string,
): Promise<Code | null> {
  const { verifier, challenge } = pkcePair();
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: client.id,
    redirect_uri,
    scope: 'openid profile offline_access',
    state: 's',
    code_challenge: challenge,
    code_challenge_method: 'S256',
  });
  const codeOf = (answer: Answer) => new URL(String(answer.headers['location'] ?? ''), world.base).searchParams.get('code');
  const { outcome, answer } = await world.recorder.record(
    { kind: 'authorize', replica },
    () => world.send(replica, { path: `/oauth/authorize?${query}`, headers: { cookie } }),
    (given) => {
      const code = given.status === 303 ? codeOf(given) : null;
      const asked = given.status === 303 && String(given.headers['location']).includes('/login') ? 'refused' : outcomeOf(given);
      return {
        outcome: code === null && asked === 'ok' ? 'unknown' : asked,
        uses: [session, user],
        ...(code === null ? {} : { issues: [`code:${code}`] }),
      };
    },
  );
  const code = outcome === 'ok' ? codeOf(answer) : null;
  return code === null ? null : { code, verifier, user };
}

export function redeem(
  world: World,
  replica: ReplicaName,
  { code, verifier, user }: Code,
  client: StageClient,
  redirect_uri: string,
): Promise<Recorded<Answer>> {
  const form = { grant_type: 'authorization_code', client_id: client.id, code, code_verifier: verifier, redirect_uri };
  return world.recorder.record(
    { kind: 'redeem', replica },
    () => world.send(replica, { path: '/oauth/token', form }),
    (answer) => ({
      outcome: standingOf(answer),
      redeems: code,
      uses: [`code:${code}`, user],
      ...(answer.status === 200 ? { issues: [`token:${answer.body['access_token']}`, `refresh:${answer.body['refresh_token']}`] } : {}),
    }),
  );
}

export const userinfo = (world: World, replica: ReplicaName, token: string, family: string, user: string): Promise<Recorded<Answer>> =>
  world.recorder.record(
    { kind: 'userinfo', replica },
    () => world.send(replica, { path: '/oauth/userinfo', headers: { authorization: `Bearer ${token}` } }),
    (answer) => ({ outcome: standingOf(answer), uses: [`token:${token}`, `family:${family}`, user] }),
  );
