import type { Context } from '../../domain/context.js';
import type { Detail } from '../../lib/authorization-details.js';
import type { BrowserSession } from '../../domain/sessions/sessions.js';

/** What a person was asked on the page: what was shown is what is given. */
export type ApprovalQuestion = {
  readonly digest: Buffer;
  readonly client_id: string;
  readonly resource: string | null;
  /** The id of the organization that the tokens are for. */
  readonly organization: string | null;
  readonly scopes: readonly string[];
  /** What it is asked for beyond scopes (RFC 9396); null: nothing. */
  readonly authorization_details: readonly Detail[] | null;
  /** When the device asked, in milliseconds. */
  readonly since: number;
};

type Sealed = Omit<ApprovalQuestion, 'digest'> & { readonly digest: string; readonly session_id: string };

const aad = ({ environment }: Context) => `device-request ${environment.id}` as const;

/** The question as text for the form, of use in this session alone: who hasn't typed the code can't answer. */
export function sealQuestion(ctx: Context, { id }: Pick<BrowserSession, 'id'>, question: ApprovalQuestion): string {
  const sealed: Sealed = { ...question, digest: question.digest.toString('base64url'), session_id: id };
  return ctx.crypto.sealer.sealText(JSON.stringify(sealed), aad(ctx));
}

/** The question behind the text; null when it was changed or is another session's. */
export function openQuestion(ctx: Context, { id }: Pick<BrowserSession, 'id'>, text: string): ApprovalQuestion | null {
  const opened = ctx.crypto.sealer.openText(text, aad(ctx));
  if (opened === null) return null;
  const { digest, session_id, ...question } = JSON.parse(opened) as Sealed;
  return session_id === id ? { ...question, digest: Buffer.from(digest, 'base64url') } : null;
}
