import { jsonObject } from '../../lib/json-object.js';
import { maxActors, type Act } from '../tokens/agent-claims.js';

const names = ['iss', 'client_id', 'sub_profile', 'client_profile'] as const;
const isName = (value: unknown): value is string => typeof value === 'string' && value !== '' && value.length <= 255;

/**
 * Whoever the issuer of an assertion says acts for the person (RFC 8693 4.1), as tokens keep it: what names actors, and nothing else, each with the issuer
 * whose names these are. Null for nobody; undefined for what can't be kept, as names of ours are another's to give.
 * @param own our issuers
 * @param most so many at most: the client itself is one more
 */
export function assertedActors(act: unknown, issuer: string, own: readonly string[], most = maxActors - 1): Act | null | undefined {
  if (act === undefined) return null;
  const { sub, act: before, ...given } = jsonObject(act) ?? {};
  const named = names.flatMap((name) => (given[name] === undefined ? [] : [[name, given[name]] as const]));
  if (most === 0 || !isName(sub) || !named.every(([, value]) => isName(value)) || own.includes(given['iss'] as string)) return undefined;
  const earlier = assertedActors(before, issuer, own, most - 1);
  return earlier === undefined ? undefined : { iss: issuer, sub, ...Object.fromEntries(named), ...(earlier && { act: earlier }) };
}
