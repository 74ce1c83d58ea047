import { assertedSubjectOf } from '../assertions/assertion-issuer.js';
import { providerIssuerOf, signalsIssuerOf, type Connection } from '../connections/connections.js';
import type { Context } from '../context.js';
import { jsonObject, type JsonObject } from '../../lib/json-object.js';

/** Whom a signal is about: an account at the connection, or one of its sessions there, or both. */
export type SignalSubject = { readonly subject: string | null; readonly sid: string | null };

export const shortText = (value: unknown): string | null =>
  typeof value === 'string' && value !== '' && value.length <= 1024 && !value.includes('\0') ? value : null;

/** An address that can be kept; null for anything else. */
export const shortAddress = (value: unknown): string | null => {
  const text = shortText(value);
  return text !== null && URL.canParse(text) ? new URL(text).href : null;
};

/** The account that a simple subject names; null for one of another issuer, and for formats that name none here. */
async function accountOf(ctx: Context, connection: Connection, id: JsonObject): Promise<string | null> {
  switch (id['format']) {
    case 'iss_sub':
      return [providerIssuerOf(connection), signalsIssuerOf(connection)].includes(id['iss'] as string) ? shortText(id['sub']) : null;
    case 'opaque':
      return shortText(id['id']);
    case 'saml-nameid':
      return connection.strategy === 'saml' ? assertedSubjectOf(ctx, connection, { sub_id: id }) : null;
    default:
      return null;
  }
}

/** Reads `sub_id` (RFC 9493, SSF 1.0 `complex`); null where it names nobody whom this service could know. */
export async function signalSubjectOf(ctx: Context, connection: Connection, sub_id: JsonObject): Promise<SignalSubject | null> {
  if (sub_id['format'] !== 'complex') {
    const subject = await accountOf(ctx, connection, sub_id);
    return subject === null ? null : { subject, sid: null };
  }
  const [user, session] = [jsonObject(sub_id['user']), jsonObject(sub_id['session'])];
  const subject = user && (await accountOf(ctx, connection, user));
  const sid = session && session['format'] === 'opaque' ? shortText(session['id']) : null;
  // Whoever names both means that session of that account, and nothing else where one of them is unknown.
  if ((user && subject === null) || (session && sid === null) || (!user && !session)) return null;
  return { subject, sid };
}
