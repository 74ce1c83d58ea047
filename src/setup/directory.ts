import type { Request, Response } from 'express';
import { wordsOf } from '../http/pages/words.js';
import type { Web } from '../http/web.js';
import { callOf } from './held.js';
import { tryWrite, sentDocument, isRefused, ownRecords } from './operations.js';
import type { SetupDirectoryPage } from './page-models.js';
import { scimWords } from './providers.js';
import { stepPage } from './steps.js';

const path = 'directories';

async function directoryOf(req: Request): Promise<(NonNullable<SetupDirectoryPage['directory']> & { readonly id: string }) | null> {
  const [found] = await ownRecords(callOf(req), path);
  if (!found) return null;
  const { base_url, token_hint, last_used_at } = found.attributes as NonNullable<SetupDirectoryPage['directory']>;
  return { id: found.id, base_url, token_hint, last_used_at, version: found.meta?.version ?? 1 };
}

async function render(web: Web, req: Request, res: Response, token: string | null, status = 200): Promise<void> {
  const page = await stepPage(req, res, wordsOf(req).t('setup.directory'));
  web.renderPage(res, 'setup/directory', { ...page, directory: await directoryOf(req), token, words: scimWords }, { status });
}

export const directoryPage = (web: Web) => (req: Request, res: Response) => render(web, req, res, null);

/** POST /setup/{token}/directory: makes the directory, or another token of it, and shows that once; sent again, the form makes no second one. */
export const makeToken = (web: Web) => async (req: Request, res: Response) => {
  const call = callOf(req);
  const seen = Number(req.form.get('version'));
  const directory = seen > 0 ? await directoryOf(req) : null;
  const outcome = directory
    ? await tryWrite(call, path, { kind: 'act', id: directory.id, name: 'rotate_token', expected: [seen] })
    : await tryWrite(call, path, { kind: 'create', id: null, document: sentDocument('directory', {}) });
  if (isRefused(outcome)) return render(web, req, res, null, 409);
  await render(web, req, res, String(outcome.once?.['token']));
};
