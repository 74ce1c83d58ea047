import { named } from '../../lib/named.js';

const caep = 'https://schemas.openid.net/secevent/caep/event-type/';
const risc = 'https://schemas.openid.net/secevent/risc/event-type/';
const ssf = 'https://schemas.openid.net/secevent/ssf/event-type/';

/** What streams can tell (CAEP 1.0, RISC 1.0), by the names that rows have; with what administrators are told of it (`reason_admin`). */
const signalEvents = {
  'session-revoked': { uri: `${caep}session-revoked`, reason: 'The session has ended.' },
  'credential-change': { uri: `${caep}credential-change`, reason: 'A credential of the person was made, changed or removed.' },
  'token-claims-change': { uri: `${caep}token-claims-change`, reason: 'What tokens say of the person has changed.' },
  'assurance-level-change': { uri: `${caep}assurance-level-change`, reason: 'The session has reached another class.' },
  'account-disabled': { uri: `${risc}account-disabled`, reason: 'The account was blocked.' },
  'account-enabled': { uri: `${risc}account-enabled`, reason: 'The account was unblocked.' },
  'account-purged': { uri: `${risc}account-purged`, reason: 'The account was deleted.' },
  'credential-compromise': { uri: `${risc}credential-compromise`, reason: 'The password is known from a data breach.' },
  'identifier-changed': { uri: `${risc}identifier-changed`, reason: 'The person has another address.' },
} as const;

export type SignalEvent = keyof typeof signalEvents;

/** What streams tell of themselves (SSF 1.0 8.1.4, 8.1.5), whatever was asked for. */
const streamEvents = {
  verification: { uri: `${ssf}verification`, reason: '' },
  'stream-updated': { uri: `${ssf}stream-updated`, reason: '' },
} as const;

const events = named<{ readonly uri: string; readonly reason: string }>({ ...signalEvents, ...streamEvents });
const names = new Map<string, SignalEvent>(Object.entries(signalEvents).map(([name, { uri }]) => [uri, name as SignalEvent]));

/** The event of a row. @throws {Error} for a name that no row has */
export function eventOf(name: string): { readonly uri: string; readonly reason: string } {
  const event = events[name];
  if (!event) throw new Error(`there is no event ${name}`);
  return event;
}

/** The URIs of all events that a stream can ask for. */
export const signalEventUris: readonly string[] = [...names.keys()];

/**
 * The URIs as rows keep them: those that are known here by their names, any other as it came, which no signal ever bears (SSF 1.0 8.1.1: an event that is not
 * understood is ignored, not forgotten). What is no URI, and so might be taken for a name, is left out.
 */
export const requestedEventsOf = (uris: readonly string[]): string[] => [
  ...new Set(uris.flatMap((uri) => names.get(uri) ?? (uri.includes(':') ? [uri] : []))),
];

/** Those of the requested ones that are known here, by their names. */
export const deliveredEventsOf = (requested: readonly string[]): SignalEvent[] =>
  requested.filter((event): event is SignalEvent => Object.hasOwn(signalEvents, event));

export const urisOf = (requested: readonly string[]): string[] => requested.map((event) => events[event]?.uri ?? event);
