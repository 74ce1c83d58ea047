import type { Request, Response } from 'express';
import { callbackUrl, samlEntityId } from '../domain/connections/connections.js';
import { noteSetupConnection } from '../domain/setup-links/setup-links.js';
import { PageError } from '../errors.js';
import { formActionSource } from '../http/pages/pages.js';
import { wordsOf, type Words } from '../http/pages/words.js';
import { queryOf } from '../http/request/form.js';
import type { Web } from '../http/web.js';
import { message, type MessageKey } from '../lib/languages/messages.js';
import type { ResourceObject } from '../management/documents.js';
import { callOf, heldOf, pathOf } from './held.js';
import { tryWrite, sentDocument, isRefused, ownRecord, type Refused } from './operations.js';
import type { SetupGuide } from './page-models.js';
import { setupProtocolOf, providerNamed, providerNames, findProvider, providers, type SetupProtocol } from './providers.js';
import { stepPage } from './steps.js';

const path = 'connections';

/** Whoever describes a SAML provider does so anew: what other ways there were goes. */
const describing: ReadonlySet<string> = new Set([
  'idp_metadata_url',
  'idp_metadata_xml',
  'idp_entity_id',
  'idp_sso_url',
  'idp_certificates',
]);

/** The connection that the link has made; never another one of the organization. */
async function madeBy(req: Request): Promise<ResourceObject | null> {
  const { connection_id } = heldOf(req).link;
  return connection_id === null ? null : ownRecord(callOf(req), path, connection_id);
}

const optionsOf = ({ attributes }: ResourceObject) => attributes['options'] as Readonly<Record<string, unknown>>;

function guideOf(req: Request, provider: string, protocol: SetupProtocol): SetupGuide | null {
  const found = findProvider(provider);
  if (!found) return null;
  const { link } = heldOf(req);
  const { environment } = req.ctx;
  // The connection will have the id of the link.
  const own = { entity_id: samlEntityId(environment, link), callback_url: callbackUrl(environment, { id: link.id, strategy: protocol }) };
  const { values, ...rest } = found[protocol];
  return { provider, name: found.name, protocol, ...rest, values: values(own) };
}

/** The guide of the connection that is there; else of what was chosen. */
function chosenGuide(req: Request, made: ResourceObject | null, chosen: { get(name: string): string | undefined }): SetupGuide | null {
  const protocol = setupProtocolOf(made ? String(made.attributes['strategy']) : (chosen.get('protocol') ?? ''));
  const provider = made ? providerNamed(String(made.attributes['display_name'])) : (chosen.get('provider') ?? '');
  return protocol && guideOf(req, provider, protocol);
}

function valuesOf(made: ResourceObject | null, guide: SetupGuide | null): Record<string, string> {
  if (!guide) return { provider: providerNames[0] ?? '', protocol: 'saml' };
  if (!made) return { issuer: providers[guide.provider]?.[guide.protocol].issuer ?? '' };
  const all = { ...made.attributes, ...optionsOf(made) } as Readonly<Record<string, unknown>>;
  return Object.fromEntries(Object.keys(guide.fields).map((name) => [name, typeof all[name] === 'string' ? all[name] : '']));
}

type Shown = {
  readonly status?: number;
  readonly errors?: Record<string, string>;
  readonly values?: Record<string, string>;
  readonly guide?: SetupGuide;
};

async function render(web: Web, req: Request, res: Response, made: ResourceObject | null, shown: Shown = {}): Promise<void> {
  const words = wordsOf(req);
  const guide = shown.guide ?? chosenGuide(req, made, queryOf(req));
  const page = await stepPage(req, res, words.t('setup.connection'));
  const { tested_version } = heldOf(req).link;
  const connection = made && {
    enabled: made.attributes['status'] === 'enabled',
    tested: tested_version !== null && tested_version === made.meta?.version,
  };
  const choices = providerNames.map((value) => ({ value, label: providers[value]?.name ?? words.t('setup.provider_other') }));
  const values = shown.values ?? valuesOf(made, guide);
  web.renderPage(
    res,
    'setup/connection',
    { ...page, guide, choices, connection, values, errors: shown.errors },
    { status: shown.status ?? 200, formAction: [formActionSource(req.ctx.environment.issuer)] },
  );
}

export const connectionPage = (web: Web) => async (req: Request, res: Response) => render(web, req, res, await madeBy(req));

function sentenceOf({ t }: Words, name: string, code: string): string {
  if (code === 'required' || code === 'secret_required') return t('error.required');
  if (code === 'too_many') return t('error.too_many');
  if (name === 'idp_metadata_xml') return t('setup.xml_invalid');
  const isAddress = name === 'idp_metadata_url' || name === 'issuer';
  const key: MessageKey = code === 'too_long' ? 'error.too_long' : isAddress ? 'setup.url_invalid' : 'error.invalid_value';
  return t(code === 'invalid_value' && name === 'idp_metadata_url' ? 'setup.metadata_either' : key);
}

/** What is wrong, by the field of the form that it is about. */
function errorsOf(words: Words, guide: SetupGuide, refused: readonly Refused[]): Record<string, string> {
  const names = Object.keys(guide.fields);
  const at = (attribute: string | null) => (attribute !== null && names.includes(attribute) ? attribute : (names[0] as string));
  return Object.fromEntries(refused.map(({ code, attribute }) => [at(attribute), sentenceOf(words, at(attribute), code)]));
}

/** The attributes that the form says. */
function attributesOf(guide: SetupGuide, sent: Readonly<Record<string, string>>, made: ResourceObject | null): Record<string, unknown> {
  const filled = Object.entries(sent).filter(([, value]) => value !== '');
  if (guide.protocol === 'oidc') return { issuer: null, provider_client_id: '', ...Object.fromEntries(filled) };
  const others = made ? Object.entries(optionsOf(made)).filter(([name]) => !describing.has(name)) : [];
  return { options: Object.fromEntries([...others, ...filled]) };
}

/** POST /setup/{token}/connection: makes the connection, disabled, or changes it; it is tested anew then. */
export const saveConnection = (web: Web) => async (req: Request, res: Response) => {
  const { link, organization } = heldOf(req);
  const made = await madeBy(req);
  const guide = chosenGuide(req, made, req.form);
  if (!guide) return render(web, req, res, made, { status: 422 });
  const values = Object.fromEntries(Object.keys(guide.fields).map((name) => [name, (req.form.get(name) ?? '').trim()]));
  const attributes = attributesOf(guide, values, made);
  const name = `${organization.name.slice(0, 50)}-${link.id.slice(-12)}`;
  const added = {
    name,
    display_name: guide.name ?? organization.display_name,
    strategy: guide.protocol,
    status: 'disabled',
    ...attributes,
  };
  const call = callOf(req);
  const outcome = made
      ? await tryWrite(call, path, { kind: 'update', id: made.id, document: sentDocument('connection', attributes, made.id) })
      : await tryWrite(call, path, { kind: 'create', id: null, document: sentDocument('connection', added) }, (tx) => noteSetupConnection(tx, link, link.id)); // prettier-ignore
  if (isRefused(outcome)) {
    const errors = errorsOf(wordsOf(req), guide, outcome);
    return render(web, req, res, made, { status: 422, errors, values: { ...values, provider_client_secret: '' }, guide });
  }
  res.redirect(303, `${pathOf(heldOf(req))}/connection`);
};

const nothing = () => new PageError(404, 'not_found', message('refusal.nothing_here'));

/** POST /setup/{token}/connection/{verb}: test, enable what was tested, disable, or remove what is disabled to choose another provider. @throws {PageError} 404 */
export const actOnConnection = (web: Web) => async (req: Request, res: Response) => {
  const made = await madeBy(req);
  if (!made) throw nothing();
  const { id } = made;
  const call = callOf(req);
  const { tested_version } = heldOf(req).link;
  const setStatus = (status: string, expected: readonly number[] | null) =>
    tryWrite(call, path, { kind: 'update', id, document: sentDocument('connection', { status }, id), expected });
  const verbs: Readonly<Record<string, () => ReturnType<typeof tryWrite>>> = {
    test: () => tryWrite(call, path, { kind: 'act', id, name: 'test' }),
    enable: () => setStatus('enabled', [tested_version ?? 0]),
    disable: () => setStatus('disabled', null),
    remove: () => tryWrite(call, path, { kind: 'delete', id, expected: made.attributes['status'] === 'disabled' ? null : [0] }),
  };
  const verb = String(req.params['verb']);
  if (!Object.hasOwn(verbs, verb)) throw nothing();
  const outcome = await (verbs[verb] as () => ReturnType<typeof tryWrite>)();
  if (isRefused(outcome)) return render(web, req, res, made, { status: 409, errors: { form: wordsOf(req).t('setup.test_first') } });
  // From a form the way to another site leads over a page of ours (`form-action`).
  const login = outcome.meta?.['login_url'];
  res.redirect(303, typeof login === 'string' ? `${login}&from=form` : `${pathOf(heldOf(req))}/connection`);
};
