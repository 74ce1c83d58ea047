import type { Request, Response } from 'express';
import { z } from 'zod';
import { queryOf } from '../../../http/request/form.js';
import { basePage } from '../../../http/pages/pages.js';
import type { Web } from '../../../http/web.js';
import { brandingAttributes } from '../../../management/resources/branding.js';
import { shownName, webUrl } from '../../../management/fields.js';
import { terms } from '../../parts/words.js';

const path = '/dashboard/branding_preview';
const prefix = 'branding.';

/** What a form says of branding; members that aren't valid, as they are while somebody types, are left out. */
const shown = {
  ...brandingAttributes,
  support_email: z.email().max(254).optional(),
  policy_uri: webUrl.optional(),
  tos_uri: webUrl.optional(),
};

/** The address that shows the sign-in page with a form's entries, by field name, on the way to a client if one is named; null for a form without branding. */
export function brandingPreview(entries: Readonly<Record<string, string>>, client?: string): string | null {
  const names = Object.keys(entries);
  if (!names.includes(`${prefix}name`)) return null;
  const query = new URLSearchParams();
  for (const name of names.filter((one) => one.startsWith(prefix))) query.set(name.slice(prefix.length), entries[name] ?? '');
  if (client !== undefined) query.set('client', client);
  return `${path}?${query}`;
}

/** GET /dashboard/branding_preview: the sign-in page as the query's branding would have it, for a frame of ours; nothing on it works. */
export function previewBranding(web: Web) {
  return (req: Request, res: Response): void => {
    const query = queryOf(req);
    const valid = Object.entries(shown).flatMap(([name, schema]) => {
      const read = schema.safeParse(query.get(name) ?? '');
      return read.success && read.data ? [[name, read.data]] : [];
    });
    const branding = Object.fromEntries(valid) as Record<string, string>;
    const { environment } = req.ctx;
    const application = query.get('client');
    const name = application === undefined ? null : (shownName(100).safeParse(application).data ?? terms.application);
    const client = name === null ? null : { branding, verified: true, policy_uri: null, tos_uri: null };
    const base = basePage(client ? environment : { ...environment, branding }, {
      title: name === null ? terms.sign_in : `Sign in to ${name}`,
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
