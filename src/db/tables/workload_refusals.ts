import { run, table, type Scope } from '../scope.js';

export type WorkloadRefusalRow = {
  environment_id: string;
  id: string;
  client_id: string;
  reason: string;
  refused_at: Date;
  expires_at: Date;
};

const keptRefusals = 10;

/** Notes a refusal; of the client's earlier ones the latest stay. */
export async function noteWorkloadRefusal(scope: Scope, row: Omit<WorkloadRefusalRow, 'environment_id'>): Promise<void> {
  const text = `
    with noted as (
      insert into workload_refusals (environment_id, id, client_id, reason, refused_at, expires_at)
      select $1::uuid, $2::uuid, $3::text, $4::text, $5::timestamptz, $6::timestamptz
      where exists (select 1 from clients where environment_id = $1 and id = $3))
    delete from workload_refusals where environment_id = $1 and id in (
      select id from workload_refusals where environment_id = $1 and client_id = $3 order by refused_at desc, id desc offset $7)`;
  const values = [row.id, row.client_id, row.reason, row.refused_at, row.expires_at, keptRefusals - 1];
  await run(scope, { name: 'workload_refusals.note', text }, values);
}

/** The client's last refusals, the latest first. */
export const listWorkloadRefusals = async (scope: Scope, client_id: string): Promise<WorkloadRefusalRow[]> =>
  (await table<WorkloadRefusalRow>(scope, 'workload_refusals')
    .where({ client_id })
    .orderBy([
      { column: 'refused_at', order: 'desc' },
      { column: 'id', order: 'desc' },
    ])
    .limit(keptRefusals)) as WorkloadRefusalRow[];
