import type { ClaimMapping, ClaimTarget } from '../../../db/tables/clients.js';
import type { LineSpec } from '../../parts/records/line-spec.js';

const places = /^[a-z_]+(?:[ ,]+[a-z_]+)*$/;

/** `claim = source in places` apart; null for what has no claim or no source. */
function partsOf(text: string): { claim: string; from: string; in: readonly string[] | null } | null {
  const equals = text.indexOf('=');
  const [claim, rest] = [text.slice(0, Math.max(0, equals)).trim(), text.slice(equals + 1).trim()];
  if (claim === '' || /\s/.test(claim) || rest === '') return null;
  const last = rest.lastIndexOf(' in ');
  const named = last > 0 ? rest.slice(last + ' in '.length).trim() : '';
  return places.test(named) ? { claim, from: rest.slice(0, last).trim(), in: named.split(/[ ,]+/) } : { claim, from: rest, in: null };
}

/** What is written as JSON: everything that isn't the name of a source. */
const isConstant = (text: string) => /^["[\d-]|^(?:true|false)$/.test(text);

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/**
 * A claim mapping as a line of a form: `groups = roles in id_token, userinfo`, constants as JSON: `tier = "gold"`.
 * @param usual where a claim is shown when the line doesn't say
 */
export const claimMappingLine = (usual: readonly ClaimTarget[]): LineSpec => ({
  show(member) {
    const { claim, source, value, in: places } = member as ClaimMapping;
    return `${claim} = ${source ?? JSON.stringify(value)} in ${places.join(', ')}`;
  },
  read(text) {
    const found = partsOf(text.replaceAll('\t', ' '));
    if (!found) return undefined;
    const { claim, from } = found;
    const where = found.in ?? [...usual];
    if (!isConstant(from)) return { claim, in: where, source: from };
    const value = parsed(from);
    return value === undefined ? undefined : { claim, in: where, value };
  },
  wrong: 'A line has the form: claim = source in id_token, userinfo, access_token; constants are written as JSON, "in quotes".',
});
