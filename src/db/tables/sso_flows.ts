import { insert, run, type Scope } from '../scope.js';

/** A row of `sso_flows`; `content_sealed` is sealed for `sso_flows/<connection id>`. */
export type SsoFlowRow = {
  environment_id: string;
  state_digest: Buffer;
  browser_digest: Buffer;
  connection_id: string;
  content_sealed: Buffer;
  expires_at: Date;
};

export async function insertSsoFlow(scope: Scope, row: Omit<SsoFlowRow, 'environment_id'>): Promise<void> {
  await insert<SsoFlowRow>(scope, 'sso_flows', row);
}

/** Spends the state: the flow of this state and this browser, once, and only until it expires. */
export async function redeemSsoFlow(scope: Scope, state_digest: Buffer, browser_digest: Buffer, now: Date): Promise<SsoFlowRow | null> {
  const rows = await run<SsoFlowRow>(
    scope,
    {
      name: 'sso_flows.redeem',
      text: `delete from sso_flows
             where environment_id = $1 and state_digest = $2 and browser_digest = $3 and expires_at > $4 returning *`,
    },
    [state_digest, browser_digest, now],
  );
  return rows[0] ?? null;
}
