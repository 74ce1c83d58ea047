import type { ClaimMapping, ClaimPlace } from '../db/tables/clients.js';
import type { LineSpec } from './presentation.js';
import { hints } from './words.js';

const line = /^(\S+?)\s*=\s*(.+?)(?:\s+in\s+([a-z_]+(?:[\s,]+[a-z_]+)*))?$/;

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
export const claimMappingLine = (usual: readonly ClaimPlace[]): LineSpec => ({
  show(member) {
    const { claim, source, value, in: places } = member as ClaimMapping;
    return `${claim} = ${source ?? JSON.stringify(value)} in ${places.join(', ')}`;
  },
  read(text) {
    const found = line.exec(text);
    if (!found) return undefined;
    const [, claim, from = '', places] = found;
    const where = places === undefined ? [...usual] : places.split(/[\s,]+/);
    if (!isConstant(from)) return { claim, in: where, source: from };
    const value = parsed(from);
    return value === undefined ? undefined : { claim, in: where, value };
  },
  wrong: hints.a_line_has_the_form,
});
