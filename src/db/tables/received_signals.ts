import { run, type Scope } from '../scope.js';

/** Notes a signal as received, in the transaction of what it does. False when it was received before. */
export async function noteReceivedSignal(scope: Scope, connection_id: string, digest: Buffer, expires_at: Date): Promise<boolean> {
  const text = `insert into received_signals (environment_id, connection_id, digest, expires_at) values ($1, $2, $3, $4)
    on conflict do nothing returning 1 as one`;
  return (await run(scope, { name: 'received_signals.note', text }, [connection_id, digest, expires_at])).length > 0;
}
