import type { Scope } from '../scope.js';

/** A session stays bound to the account at a connection while its sign-ins come through that one. */
export function sameAccount(scope: Scope, connection_id: string | null, subject: string | null = null, sid: string | null = null) {
  const whileSame = (column: string, value: string | null, type: string) =>
    scope.knex.raw(
      `case when sessions.provider_connection_id = ?::uuid and sessions.provider_subject = ?::text then ${value === null ? column : `?::${type}`} end`,
      value === null ? [connection_id, subject] : [connection_id, subject, value],
    ) as never;
  return {
    provider_connection_id: whileSame('provider_connection_id', null, 'uuid'),
    provider_subject: whileSame('provider_subject', null, 'text'),
    provider_sid: whileSame('null::text', sid, 'text'),
  };
}
