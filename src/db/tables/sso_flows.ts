import { insert, run, type Scope } from '../scope.js';

/** A row of `sso_flows`; `content_sealed` and `answer_sealed` are sealed for `sso_flows/<connection id>`. */
export type SsoFlowRow = {
  environment_id: string;
  state_digest: Buffer;
  browser_digest: Buffer;
  connection_id: string;
  content_sealed: Buffer;
  /** What a SAML provider posted, until the browser comes in with its cookie. */
  answer_sealed: Buffer | null;
  expires_at: Date;
};

export async function insertSsoFlow(scope: Scope, row: Omit<SsoFlowRow, 'environment_id' | 'answer_sealed'>): Promise<void> {
  await insert<SsoFlowRow>(scope, 'sso_flows', row);
}

/** Spends the state: the flow of this state and this browser, once, and only until it expires. */
export async function redeemSsoFlow(scope: Scope, state_digest: Buffer, browser_digest: Buffer, now: Date): Promise<SsoFlowRow | null> {
  const text = `delete from sso_flows
      where environment_id = $1 and state_digest = $2 and browser_digest = $3 and expires_at > $4 returning *`;
  const rows = await run<SsoFlowRow>(scope, { name: 'sso_flows.redeem', text }, [state_digest, browser_digest, now]);
  return rows[0] ?? null;
}

/** Keeps the answer of a flow of this connection, the first one that comes. False when there is no such flow. */
export async function answerSsoFlow(
  scope: Scope,
  { state_digest, connection_id, answer_sealed }: Pick<SsoFlowRow, 'state_digest' | 'connection_id' | 'answer_sealed'>,
  now: Date,
): Promise<boolean> {
  const text = `update sso_flows set answer_sealed = coalesce(answer_sealed, $4)
      where environment_id = $1 and state_digest = $2 and connection_id = $3 and expires_at > $5 returning 1`;
  const rows = await run(scope, { name: 'sso_flows.answer', text }, [state_digest, connection_id, answer_sealed, now]);
  return rows.length > 0;
}
