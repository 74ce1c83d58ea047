import type { Request, Response } from 'express';
import { attributeAliases } from '../domain/connections/strategies.js';
import type { Connection, SetupTest } from '../domain/connections/connections.js';
import { organizationLooks } from '../domain/environments/branding.js';
import { speaksForAddress } from '../domain/organizations/domains.js';
import { findOrganization, type Organization } from '../domain/organizations/organizations.js';
import { noteSetupTest } from '../domain/setup-links/setup-links.js';
import type { PageError } from '../errors.js';
import { basePage, type BasePage } from '../http/pages/pages.js';
import { wordsOf } from '../http/pages/words.js';
import type { Web } from '../http/web.js';
import type { ProviderAssertion } from './provider-assertion.js';
import { decide, type Decision, type Profile } from '../domain/sign-ins/provider-decision.js';
import { strategyOfPage, type SetupTestPage, type TestResultPage } from './page-models.js';
import { mapClaims } from './profile.js';
import { ssoRefusal } from './refusal.js';
import type { Claims } from './strategies/strategy.js';

/** What a page of a test shows at most: claims, and characters of the name and of the value of each. */
const [maxClaims, maxNameLength, maxClaimLength] = [100, 200, 500];

/** What a login would have done: tone, sentence, error code and detail. */
function verdictOf(decision: Decision, profile: Profile): Pick<TestResultPage, 'tone' | 'verdict' | 'code' | 'detail'> {
  const plain = { code: null, detail: null };
  const of = (user: { email: string; id: string }) => `${user.email} (${user.id})`;
  switch (decision.kind) {
    case 'known':
      return { tone: 'good', verdict: `This login would sign ${of(decision.user)} in: the two are connected already.`, ...plain };
    case 'link':
      return { tone: 'good', verdict: `This login would connect itself to ${of(decision.user)} and sign that user in.`, ...plain };
    case 'ask':
      return { tone: 'warning', verdict: `This login would first ask for the password of ${of(decision.user)}.`, ...plain };
    case 'prove_again':
      return {
        tone: 'warning',
        verdict:
          'This login would first ask for the password of the local account: since the two were connected, the connection has changed or the address was proven for the first time.',
        ...plain,
      };
    case 'register':
      return { tone: 'good', verdict: `This login would create a user with the address ${profile.email?.email ?? ''}.`, ...plain };
    case 'refuse':
      return { tone: 'bad', verdict: 'This login would be refused.', code: decision.code, detail: ssoRefusal(decision.code).text };
  }
}

/** Attributes that are listed even when the provider didn't send them. */
const essential = new Set(['sub', 'email', 'email_verified', 'first_name', 'last_name']);

function mappingOf(connection: Connection, claims: Claims): TestResultPage['mapping'] {
  const own = new Set(Object.keys(connection.claim_mapping).map((name) => attributeAliases[name] ?? name));
  return mapClaims(connection, claims)
    .filter(({ attribute, value }) => value !== undefined || essential.has(attribute) || own.has(attribute))
    .map(({ attribute, claim, value }) => ({ attribute, claim, value: bounded(shown(value), maxClaimLength) }));
}

const shown = (value: unknown) => (value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value));

/** The first characters of a text, and that there are more. */
const bounded = (text: string, length: number) => (text.length > length ? `${text.slice(0, length)}...` : text);

/** The claims as JSON: so many of them, each so long, that a page can show them. */
function claimsOf(claims: Claims): string {
  const all = Object.entries(claims);
  const some = all.slice(0, maxClaims).map(([name, value]) => {
    const text = JSON.stringify(value) ?? 'null';
    return [bounded(name, maxNameLength), text.length > maxClaimLength ? bounded(text, maxClaimLength) : value] as const;
  });
  const text = JSON.stringify(Object.fromEntries(some), null, 2);
  return all.length > maxClaims ? `${text}\n${all.length - maxClaims} more` : text;
}

function render(
  web: Web,
  req: Request,
  res: Response,
  connection: Connection,
  result: Omit<TestResultPage, 'connection' | keyof BasePage>,
): void {
  web.renderPage(res, 'sso/test-result', {
    ...basePage(req.ctx.environment, { title: `Test of ${connection.display_name}`, request_id: req.request_id }),
    connection: { display_name: connection.display_name, strategy: strategyOfPage(connection) },
    ...result,
  });
}

async function answered(web: Web, req: Request, res: Response, { flow, connection, claims, profile }: ProviderAssertion): Promise<void> {
  if (flow.setup) return finishSetupTest(web, req, res, { connection, claims, profile }, flow.setup);
  if (flow.tells_people !== true) return render(web, req, res, connection, anonymous(connection, claims));
  const decision = await decide(req.ctx, connection, profile);
  render(web, req, res, connection, { ...verdictOf(decision, profile), mapping: mappingOf(connection, claims), claims: claimsOf(claims) });
}

/** What somebody without `users:read` is shown: that the answer can be used and which claims there are, but nobody's; and not whether the address is an account's. */
function anonymous(connection: Connection, claims: Claims): Omit<TestResultPage, 'connection' | keyof BasePage> {
  const found = (value: string) => (value === '' ? '' : 'found');
  return {
    tone: 'good',
    verdict: 'The provider let somebody in, and its answer can be used.',
    code: null,
    detail: 'Whom this login would sign in, and what the provider says of them, is shown to who starts the test with users:read.',
    mapping: mappingOf(connection, claims).map((one) => ({ ...one, value: found(one.value) })),
    claims: Object.keys(claims)
      .slice(0, maxClaims)
      .map((name) => bounded(name, maxNameLength))
      .join('\n'),
  };
}

type SetupResult = Omit<SetupTestPage, keyof BasePage | 'next'>;

/** As the other pages of the set-up link it looks like the organization. */
function renderSetup(
  web: Web,
  req: Request,
  res: Response,
  { link_id, organization }: SetupTest & { readonly organization: Organization | null },
  { title, ...result }: SetupResult & { readonly title: string },
): void {
  req.branded_for = organization && organizationLooks(organization);
  const page = basePage(req.ctx.environment, { title, request_id: req.request_id });
  web.renderPage(res, 'sso/setup-test', { ...page, ...result, next: `/setup/${link_id}/connection` });
}

/**
 * What whoever sets the connection up is shown: what the provider says of the person who tried it, who is their own, and never what accounts there are here.
 * A connection that lets such people in can be enabled.
 */
async function finishSetupTest(
  web: Web,
  req: Request,
  res: Response,
  { connection, claims, profile }: Pick<ProviderAssertion, 'connection' | 'claims' | 'profile'>,
  setup: SetupTest,
): Promise<void> {
  const { t } = wordsOf(req);
  const { ctx } = req;
  const organization = await findOrganization(ctx, connection.organization_id ?? '');
  const email = profile.email?.email ?? null;
  const isSpokenFor = email !== null && organization !== null && (await speaksForAddress(ctx, organization.id, email));
  if (isSpokenFor) await noteSetupTest(ctx, setup);
  const foreign = t('setup.test_domain', { email: email ?? '', organization: organization?.display_name ?? '' });
  renderSetup(
    web,
    req,
    res,
    { ...setup, organization },
    {
      title: t(isSpokenFor ? 'setup.tested' : 'setup.test_bad'),
      tone: isSpokenFor ? 'good' : 'bad',
      text: isSpokenFor ? t('setup.test_good') : email === null ? t('setup.test_no_email') : foreign,
      code: null,
      detail: null,
      mapping: mappingOf(connection, claims),
      claims: claimsOf(claims),
    },
  );
}

/** The same of a test that went wrong. */
async function refusedSetup(
  web: Web,
  req: Request,
  res: Response,
  { organization_id }: Pick<Connection, 'organization_id'>,
  setup: SetupTest,
  { code, localized, text, cause }: PageError,
): Promise<void> {
  const words = wordsOf(req);
  const organization = await findOrganization(req.ctx, organization_id ?? '');
  renderSetup(
    web,
    req,
    res,
    { ...setup, organization },
    {
      title: words.t('setup.test_bad'),
      tone: 'bad',
      text: localized ? words.say(localized) : text,
      code,
      detail: cause instanceof Error ? bounded(cause.message, maxClaimLength) : null,
      mapping: [],
      claims: '',
    },
  );
}

/** Shows why a test was refused, with the cause from the log, which holds no secret. */
async function refused(
  web: Web,
  req: Request,
  res: Response,
  connection: Connection,
  refusal: PageError,
  setup?: SetupTest,
): Promise<void> {
  if (setup) return refusedSetup(web, req, res, connection, setup, refusal);
  const detail = refusal.cause instanceof Error ? refusal.cause.message : refusal.text;
  render(web, req, res, connection, {
    tone: 'bad',
    verdict: 'The login did not get as far as a person.',
    code: refusal.code,
    detail: bounded(detail, maxClaimLength),
    mapping: [],
    claims: '',
  });
}

/** The end of a connection test: what came back and what it would have led to. Nobody is signed in, and nothing is written but that a set-up's test went well. */
export const finishTest = { answered, refused };
