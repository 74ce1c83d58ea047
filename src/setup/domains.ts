import type { Request, Response } from 'express';
import { PageError } from '../errors.js';
import { wordsOf, type Words } from '../http/pages/words.js';
import type { Web } from '../http/web.js';
import { message } from '../lib/languages/messages.js';
import type { ResourceObject } from '../management/documents.js';
import { callOf, heldOf, pathOf } from './held.js';
import { tryWrite, sentDocument, isRefused, ownRecord, ownRecords, type Refused } from './operations.js';
import type { SetupDomain } from './page-models.js';
import { stepPage } from './steps.js';

const path = 'organization_domains';

const domainOf = ({ id, attributes: a }: ResourceObject): SetupDomain => ({
  id,
  domain: String(a['domain']),
  status: a['status'] as SetupDomain['status'],
  failure_reason: a['failure_reason'] as SetupDomain['failure_reason'],
  record: (a['verification_records'] as SetupDomain['record'][])[0] as SetupDomain['record'],
});

type Shown = { readonly status?: number; readonly errors?: Record<string, string>; readonly typed?: string };

async function render(web: Web, req: Request, res: Response, { status = 200, errors, typed = '' }: Shown = {}): Promise<void> {
  const page = await stepPage(req, res, wordsOf(req).t('setup.domains'));
  const domains = (await ownRecords(callOf(req), path)).map(domainOf);
  web.renderPage(res, 'setup/domains', { ...page, domains, errors, values: { domain: typed } }, { status });
}

export const domainsPage = (web: Web) => (req: Request, res: Response) => render(web, req, res);

const sentenceOf = ({ t }: Words, { code }: Refused): string =>
  t(
    code === 'required' || code === 'too_short'
      ? 'error.required'
      : code === 'already_exists'
        ? 'setup.domain_exists'
        : 'setup.domain_invalid',
  );

/** POST /setup/{token}/domains: a domain that waits for its record. */
export const addDomain = (web: Web) => async (req: Request, res: Response) => {
  const words = wordsOf(req);
  const call = callOf(req);
  const typed = (req.form.get('domain') ?? '').trim().slice(0, 300);
  const document = sentDocument('organization_domain', { domain: typed.toLowerCase().replace(/\.$/, '') });
  const outcome = await tryWrite(call, path, { kind: 'create', id: null, document });
  if (isRefused(outcome) && outcome[0]?.code === 'too_many') {
    const count = (await ownRecords(call, path)).length;
    return render(web, req, res, { status: 409, errors: { form: words.t('setup.domain_limit', { count }) }, typed });
  }
  if (isRefused(outcome))
    return render(web, req, res, { status: 422, errors: { domain: sentenceOf(words, outcome[0] as Refused) }, typed });
  res.redirect(303, `${pathOf(heldOf(req))}/domains#domain-${String(outcome.row['id'])}`);
};

/** POST /setup/{token}/domains/{id}/verify looks for the record now; /remove takes away what isn't proven. @throws {PageError} 404 */
export const actOnDomain = (web: Web) => async (req: Request, res: Response) => {
  const call = callOf(req);
  const [id, verb] = [String(req.params['id']), req.params['verb']];
  if (verb !== 'verify' && verb !== 'remove') throw new PageError(404, 'not_found', message('refusal.nothing_here'));
  const { attributes } = await ownRecord(call, path, id);
  if (verb === 'remove' && attributes['status'] === 'verified') throw new PageError(404, 'not_found', message('refusal.nothing_here'));
  const write = verb === 'verify' ? ({ kind: 'act', id, name: 'verify' } as const) : ({ kind: 'delete', id } as const);
  const outcome = await tryWrite(call, path, write);
  // Another organization has proven it: only who has the record in the zone is told that.
  const errors = { form: wordsOf(req).t('setup.domain_taken', { service: req.ctx.environment.name }) };
  if (isRefused(outcome)) return render(web, req, res, { status: 409, errors });
  res.redirect(303, `${pathOf(heldOf(req))}/domains${verb === 'verify' ? `#domain-${id}` : ''}`);
};
