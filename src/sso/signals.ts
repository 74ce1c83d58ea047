import express, { type Request, type Response } from 'express';
import { connectionOf, type Connection } from '../domain/connections/connections.js';
import {
  readGlobalRevocation,
  readLogoutToken,
  readSecurityEventToken,
  type ReadSignal,
  type RefusedSignal,
} from '../domain/provider-signals/read-signal.js';
import { noteRefusedSignal, receiveSignal } from '../domain/provider-signals/receive-signal.js';
import { originOf } from '../http/pages/mail-origin.js';
import { bodyLimits } from '../http/request/body-limits.js';
import { errorDescription } from '../lib/error-description.js';
import { jsonObject } from '../lib/json-object.js';
import { named } from '../lib/named.js';
import { parseParameters } from '../lib/parameters.js';

/** A signal in one of its forms: how it is read, what says that it was taken, and whether one that came before is refused. */
type Form = {
  readonly read: (req: Request, connection: Connection, body: string) => Promise<ReadSignal | RefusedSignal>;
  readonly taken: number;
  readonly refuses_replays: boolean;
};

const unreadable = (description: string): RefusedSignal => ({ err: 'invalid_request', description, because: 'signal_invalid' });

function membersOf(body: string) {
  try {
    return jsonObject(JSON.parse(body));
  } catch {
    return null;
  }
}

const forms = named<Form>({
  // RFC 8935.
  'application/secevent+jwt': {
    read: ({ ctx }, connection, body) => readSecurityEventToken(ctx, connection, body.trim()),
    taken: 202,
    refuses_replays: false,
  },
  // OpenID Connect Back-Channel Logout 1.0 2.5.
  'application/x-www-form-urlencoded': {
    read: async ({ ctx }, connection, body) => {
      const token = parseParameters(body)?.get('logout_token');
      return token === undefined ? unreadable('logout_token is required') : readLogoutToken(ctx, connection, token);
    },
    taken: 200,
    refuses_replays: true,
  },
  // Okta Universal Logout.
  'application/json': {
    read: async ({ ctx, headers }, connection, body) => {
      const [, token] = /^bearer +(\S+)$/i.exec(headers.authorization ?? '') ?? [];
      if (token === undefined)
        return { err: 'authentication_failed', description: 'a Bearer token is required', because: 'signal_invalid' };
      return readGlobalRevocation(ctx, connection, { token, sub_id: membersOf(body)?.['sub_id'] });
    },
    taken: 204,
    refuses_replays: true,
  },
});

/** Reads the body as it came: each form has its own meaning, and a signature over it. */
export const signalBody = express.text({ type: Object.keys(forms), limit: bodyLimits.form, inflate: false });

/** Does what it says. Transmitters of security event tokens may send one again, which does nothing; the others never do. */
async function replayOf(form: Form, req: Request, connection: Connection, read: ReadSignal): Promise<RefusedSignal | null> {
  const isNew = await receiveSignal(req.ctx, connection, read, originOf(req));
  if (isNew || !form.refuses_replays) return null;
  const err = form.taken === 204 ? 'authentication_failed' : 'invalid_request';
  return { err, description: 'jti: the token came before', because: 'signal_replayed' };
}

/** RFC 8935 2.4; those who authorize themselves are told so. */
function refuse(res: Response, status: number, { err, description }: Pick<RefusedSignal, 'err' | 'description'>): void {
  if (status === 401)
    res.setHeader('WWW-Authenticate', `Bearer error="invalid_token", error_description="${errorDescription(description)}"`);
  // RFC 8935 2.3: of the description. `error` is what back-channel logout (2.8) calls it.
  res
    .status(status)
    .set('Content-Language', 'en')
    .json({
      err,
      description,
      error: err === 'authentication_failed' ? 'invalid_token' : 'invalid_request',
      error_description: errorDescription(description),
    });
}

/**
 * POST /auth/sso/{connection_id}/signals: what the provider says of sessions and accounts there. Unknown, disabled and foreign connections are one 404, and so
 * are those that take no signals.
 */
export async function takeSignal(req: Request<{ connection_id: string }>, res: Response): Promise<void> {
  res.setHeader('Cache-Control', 'no-store');
  const connection = await connectionOf(req.ctx, req.params.connection_id);
  if (connection?.status !== 'enabled' || connection.signals !== 'push') return refuse(res, 404, unreadable('no signals are taken here'));
  const form = Object.entries(forms).find(([type]) => req.is(type) !== false && req.is(type) !== null)?.[1];
  if (!form || typeof req.body !== 'string') return refuse(res, 400, unreadable('the body has another Content-Type'));
  const read = await form.read(req as unknown as Request, connection, req.body);
  const refusal: RefusedSignal | null = 'err' in read ? read : await replayOf(form, req, connection, read);
  if (!refusal) return void res.status(form.taken).end();
  noteRefusedSignal(req.ctx, connection, refusal, originOf(req as unknown as Request));
  refuse(res, refusal.err === 'authentication_failed' ? 401 : 400, refusal);
}
