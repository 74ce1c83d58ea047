import type { ClientRow } from '../db/tables/clients.js';

/** Where a request came from, for the mail and the trace that it leaves; all null for what the service does by itself. */
export type Origin = {
  readonly ip_address: string | null;
  /** The User-Agent header as it was sent. */
  readonly user_agent: string | null;
  readonly request_id: string | null;
  /** The client whose sign-in is under way, and whose branding a mail bears; absent or null: none. */
  readonly on_way_to?: string | null;
  /** Whose looks a mail bears beside that: those of the page that the person is on; absent or null: the client's. */
  readonly looks?: Pick<ClientRow, 'branding' | 'policy_uri' | 'tos_uri' | 'verified'> | null;
  /** The language of the page that the person is on, a BCP 47 tag; absent for the requests of machines and of administrators. */
  readonly language?: () => string;
};

/** The origin of what the service does by itself: all null. */
export const noOrigin: Origin = { ip_address: null, user_agent: null, request_id: null };
