import { createHash, randomBytes } from 'node:crypto';
import { Connection, requestText, type Operation } from './driver.js';
import { redeemCode, type Scenario } from './scenarios.js';
import { fixtures, type Target } from './targets/target.js';
import { Visit, type Page } from './visit.js';

let opened = 0;

/** What the person of one more connection answers, under the names that any of the services gives its fields. */
function answersOfNext(): Record<string, string> {
  const email = fixtures.people[opened++ % fixtures.people.length] as string;
  return { email, login: email, username: email, password: fixtures.person.password, decision: 'allow', accept: 'Yes' };
}

/** The PKCE challenge of a verifier. */
export const challengeOf = (verifier: string) => createHash('sha256').update(verifier).digest('base64url');

/** The address of an authorization request. */
export function authorizePath(target: Target, client: { readonly id: string }, parameters: Record<string, string> = {}): string {
  const request = new URLSearchParams({
    response_type: 'code',
    client_id: client.id,
    redirect_uri: target.redirect_uri,
    scope: 'openid profile email',
    state: 'x',
    code_challenge: challengeOf(randomBytes(32).toString('base64url')),
    code_challenge_method: 'S256',
    ...parameters,
  });
  return `${target.paths.authorize}?${request.toString()}`;
}

function shown(page: Page | null, what: string): Page {
  if (page === null) throw new Error(`expected ${what}, not a code`);
  return page;
}

/** The page that asks who one is, again and again. */
async function openSignInPage(target: Target): Promise<Operation> {
  const connection = new Connection(target.port);
  const visit = new Visit(connection, target);
  const { path } = shown(await visit.open(authorizePath(target, target.client)), 'the sign-in page');
  connection.close();
  return async (own) => {
    const again = new Visit(own, target, visit.cookie());
    if (!shown(await again.open(path), 'the sign-in page').html.includes('type="password"')) throw new Error('no password is asked for');
  };
}

/** An application sends somebody who isn't signed in; the page, the form with the password, and back with a code. */
async function openSignIn(target: Target): Promise<Operation> {
  const answers = answersOfNext();
  return async (connection) => {
    const visit = new Visit(connection, target);
    const page = shown(await visit.open(authorizePath(target, target.client)), 'the sign-in page');
    if ((await visit.submit(page, answers)) !== null) throw new Error('somebody who has signed in is shown a page');
  };
}

/** Answers pages until the application has its code. */
async function answerAll(visit: Visit, first: Page | null, answers: Record<string, string>): Promise<void> {
  let page = first;
  // oidc-provider shows more than one for consent.
  for (let pages = 0; page !== null; pages++) {
    if (pages === 4) throw new Error(`somebody who has answered everything is shown ${page.path}`);
    page = await visit.submit(page, answers);
  }
}

/** All that somebody waits for who comes to an application of others for the first time: page, password, consent, code, and its token. */
async function openWholeSignIn(target: Target): Promise<Operation> {
  const answers = answersOfNext();
  return async (connection) => {
    const verifier = randomBytes(32).toString('base64url');
    const visit = new Visit(connection, target);
    const parameters = { prompt: 'consent', code_challenge: challengeOf(verifier) };
    await answerAll(visit, shown(await visit.open(authorizePath(target, target.othersClient, parameters)), 'the sign-in page'), answers);
    await redeemCode(connection, target, { id: target.othersClient.id, secret: null }, visit.code, verifier);
  };
}

/** An application sends somebody whose session is alive: back with a code, in one request. */
async function openSession(target: Target): Promise<Operation> {
  const cookie = await target.session();
  return async (connection) => {
    const headers = { Host: `localhost:${target.port}`, Cookie: cookie };
    const reply = await connection.send(requestText('GET', authorizePath(target, target.client), headers));
    if (!/\r\nlocation: \S+[?&]code=/i.test(reply.head)) throw new Error(`no code: ${reply.head}`);
  };
}

/** An application of others asks to be allowed every time: the page, the answer, and back with a code. */
async function openConsent(target: Target): Promise<Operation> {
  const answers = answersOfNext();
  const cookie = await target.session();
  return async (connection) => {
    const visit = new Visit(connection, target, cookie);
    await answerAll(
      visit,
      shown(await visit.open(authorizePath(target, target.othersClient, { prompt: 'consent' })), 'the consent page'),
      answers,
    );
  };
}

/** What people wait for. Password hashes run beside the event loop, so its own time is what a sign-in costs without them. */
export const signInScenarios: readonly Scenario[] = [
  { name: 'sign_in_page', title: 'the sign-in page', open: openSignInPage },
  { name: 'sign_in', title: 'sign-in: authorize, page, password, code', open: openSignIn },
  { name: 'sign_in_whole', title: 'sign-in: authorize, page, password, consent, code, token', open: openWholeSignIn },
  { name: 'session', title: 'authorize with a live session', open: openSession },
  { name: 'consent', title: 'consent: authorize, page, answer, code', open: openConsent },
];
