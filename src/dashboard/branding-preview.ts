import type { Request, Response } from 'express';
import { z } from 'zod';
import { queryOf } from '../http/request/form.js';
import { basePage } from '../http/pages/pages.js';
import type { Web } from '../http/web.js';
import { looks } from '../management/resources/branding.js';
import { shownName, webUrl } from '../management/fields.js';
import type { BoundField, Entries } from './form-fields.js';
import { fill, terms } from './words.js';

const path = '/dashboard/branding_preview';
const prefix = 'branding.';

/** What a form says of branding; members that aren't valid, as they are while somebody types, are left out. */
const shown = { ...looks, support_email: z.email().max(254).optional(), policy_uri: webUrl.optional(), tos_uri: webUrl.optional() };

/** Where the sign-in page is shown as the form would have it; null for a form without branding. */
export function brandingPreview(fields: readonly BoundField[], entries: Entries): string | null {
  const names = fields.map(({ spec }) => spec.name);
  if (!names.includes(`${prefix}name`)) return null;
  const query = new URLSearchParams();
  for (const name of names.filter((one) => one.startsWith(prefix))) query.set(name.slice(prefix.length), entries.texts[name] ?? '');
  // The environment's own settings have its name too, in another form.
  if (names.includes('redirect_uris')) query.set('client', entries.texts['name'] ?? '');
  return `${path}?${query}`;
}

/** GET /dashboard/branding_preview: the sign-in page as the query's branding would have it, for a frame of ours; nothing on it works. */
export function previewBranding(web: Web) {
  return (req: Request, res: Response): void => {
    const query = queryOf(req);
    const said = Object.entries(shown).flatMap(([name, schema]) => {
      const read = schema.safeParse(query.get(name) ?? '');
      return read.success && read.data ? [[name, read.data]] : [];
    });
    const branding = Object.fromEntries(said) as Record<string, string>;
    const { environment } = req.ctx;
    const application = query.get('client');
    const name = application === undefined ? null : (shownName(100).safeParse(application).data ?? terms.application);
    const client = name === null ? null : { branding, verified: true, policy_uri: null, tos_uri: null };
    const base = basePage(client ? environment : { ...environment, branding }, {
      title: name === null ? terms.sign_in : fill(terms.sign_in_to_name, { name }),
      request_id: req.request_id,
      client,
    });
    web.renderPage(
      res,
      'account/login',
      {
        ...base,
        still: true,
        client: name === null ? null : { name },
        return_to: '',
        connections: [],
        registration_enabled: environment.registration_enabled,
      },
      { frames: 'within' },
    );
  };
}
