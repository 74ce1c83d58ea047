import { isDeepStrictEqual } from 'node:util';
import { listDomainsOfConnections, type ConnectionRow } from '../../db/tables/connections.js';
import type { Context } from '../context.js';
import { invalidValue, type Problem } from '../refusal.js';

const refused = (attribute: string, detail: string): Problem => invalidValue([attribute], detail);

/** What an organization decides for its connections (specification 16.4.2); the domains of one that is there may be sent back as they are shown. */
export async function organizationProblems(
  { scope }: Context,
  { domains = [], required = false }: Partial<Pick<ConnectionRow, 'domains' | 'required'>>,
  connection: Pick<ConnectionRow, 'id'> | null,
): Promise<Problem[]> {
  const [shown] = domains.length > 0 && connection ? await listDomainsOfConnections(scope, [connection.id]) : [];
  return [
    ...(isDeepStrictEqual(domains, shown?.domains ?? [])
      ? []
      : [refused('domains', 'Its domains are those of its organization: verify them there.')]),
    ...(required ? [refused('required', 'Set require_sso of its organization.')] : []),
  ];
}
