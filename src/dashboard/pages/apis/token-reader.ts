import type { Request, Response } from 'express';
import { listNames } from '../../../db/tables/names.js';
import type { RefreshTokenState } from '../../../db/tables/refresh_tokens.js';
import { describeActiveToken } from '../../../domain/tokens/active-token.js';
import { sessionBounds } from '../../../domain/sessions/sessions.js';
import { findPresented } from '../../../domain/tokens/refresh-token.js';
import { peekJwt } from '../../../domain/tokens/formats/jwt.js';
import { requirePermissions } from '../../../management/authorize.js';
import { token_preview } from '../../../management/calls/token_preview.js';
import type { Call } from '../../../management/call.js';
import type { Part, Row } from '../../parts/page-parts.js';
import { recordPath } from '../../parts/records/presentation.js';
import type { Render } from '../../parts/render.js';
import { code, json, link, state, text, time } from '../../parts/values.js';
import { terms } from '../../parts/words.js';

export const tokenReaderPath = '/dashboard/token';
export const tokenReaderLead = 'Whose a token is, what it allows, and why it is refused.';
/** Beyond what a JWT of ours, or a header with one, can have. */
const longest = 20_000;

/** What stands in the database, or in a good JWT, of a token. */
type Content = {
  readonly client_id: string;
  readonly user_id: string | null;
  readonly scope: string;
  readonly audience: string | null;
  readonly issued_at: Date;
  readonly expires_at: Date;
};

type Reading = { readonly problem: string | null; readonly content: Content | null };

const problems: Readonly<Record<NonNullable<RefreshTokenState['problem']>, string>> = {
  revoked: 'the refresh token was revoked',
  expired: 'the refresh token has expired',
  user: 'the user is blocked',
  session: 'its session has ended',
  organization: 'the user is no active member of its organization, or that is disabled',
};

async function readRefreshToken({ ctx }: Call, value: string): Promise<Reading> {
  const found = await findPresented(ctx, value, sessionBounds(ctx));
  if (!found) return { problem: 'this refresh token is not known here: it expired long ago, or another environment or service issued it', content: null }; // prettier-ignore
  const rotated = found.replaced_at === null ? null : 'the refresh token was used: a newer one has replaced it';
  return { problem: found.problem ? problems[found.problem] : rotated, content: { ...found, audience: found.resource } };
}

async function readToken(call: Call, value: string): Promise<Reading> {
  if (value.startsWith('rt_')) return readRefreshToken(call, value);
  const found = await describeActiveToken(call.ctx, value, call.ctx.scope);
  if ('inactive' in found) return { problem: found.inactive, content: null };
  return { problem: null, content: { ...found.token, client_id: found.token.client.id } };
}

async function contentRows({ ctx: { scope, clock } }: Call, content: Content): Promise<Row[]> {
  const { client_id, user_id } = content;
  const rows = await listNames(scope, { user: user_id === null ? [] : [user_id], client: [client_id], connection: [], webhook: [] });
  const linked = (type: 'user' | 'client', id: string) =>
    link(rows.find((one) => one.type === type)?.name ?? id, recordPath(`${type}s`, id));
  return [
    { label: terms.client, value: linked('client', client_id) },
    { label: terms.user, value: user_id === null ? text('None: the client acts for itself') : linked('user', user_id) },
    { label: terms.scope, value: code(content.scope === '' ? null : content.scope) },
    { label: terms.api, value: code(content.audience) },
    { label: 'Issued', value: time(content.issued_at.toISOString(), clock.now()) },
    { label: 'Expires', value: time(content.expires_at.toISOString(), clock.now()) },
  ];
}

async function resultParts(call: Call, value: string): Promise<Part[]> {
  const { problem, content } = await readToken(call, value);
  const jwt = peekJwt(value);
  const sentence = problem && problem.charAt(0).toUpperCase() + problem.slice(1);
  return [
    {
      kind: 'summary',
      title: 'This token',
      rows: [
        { label: terms.status, value: sentence === null ? state('good', 'Valid now') : state('bad', 'Not valid') },
        ...(sentence === null ? [] : [{ label: terms.reason, value: text(`${sentence}.`) }]),
        ...(content ? await contentRows(call, content) : []),
        ...(jwt ? [{ label: 'Claims', value: json(jwt.claims) }, { label: 'Header', value: json(jwt.header) }] : []), // prettier-ignore
      ],
    },
  ];
}

async function show(render: Render, req: Request, res: Response, value: string | null): Promise<void> {
  requirePermissions(req.call, ...token_preview.permissions);
  const error = value === '' ? 'Paste a token.' : value !== null && value.length > longest ? 'This is too long for a token.' : null;
  const label = 'Token';
  const form: Part = {
    kind: 'form',
    id: 'token-form',
    action: tokenReaderPath,
    hidden: {},
    sections: [
      {
        title: null,
        text: null,
        fields: [
          {
            kind: 'textarea',
            name: 'token',
            label,
            hint: 'An access token, ID token or refresh token. It is neither stored nor logged, and stays valid.',
            optional: false,
            // A token that was read isn't shown again.
            value: '',
            chosen: [],
            choices: [],
            error,
            attributes: { rows: 6, autocomplete: 'off', spellcheck: 'false', ...(value === null && { autofocus: true }) },
          },
        ],
      },
    ],
    button: { label: 'Read token', variant: 'primary' },
    cancel: null,
  };
  const answer = value === null || error !== null ? [] : await resultParts(req.call, value);
  render(
    req,
    res,
    {
      title: terms.read_token,
      lead: tokenReaderLead,
      errors: error === null ? {} : { token: error },
      labels: { token: label },
      parts: [...answer, form],
    },
    error === null ? 200 : 422,
  );
}

/** GET /dashboard/token: a field for a token. */
export const tokenReaderPage = (render: Render) => (req: Request, res: Response) => show(render, req, res, null);

/** POST /dashboard/token: what it says, and whether it is good now. In the body of a form, so that no address, history or log has it (specification 9.2.21). */
export const readPostedToken = (render: Render) => (req: Request, res: Response) =>
  show(render, req, res, (req.form.get('token') ?? '').trim().replace(/^(?:authorization: ?)?(?:bearer|dpop) +/i, ''));
