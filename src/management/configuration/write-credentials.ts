import { perform } from '../write-steps.js';
import { federated_credentials } from '../resources/federated_credentials.js';
import { sortedCredentials, without } from './described-credentials.js';
import type { DescribedCredential } from './document.js';
import { recordsNamed, type LiveRecord } from './live.js';
import type { Item } from './items.js';
import { attemptItem, note, type RecordChange, type Run } from './run.js';

/** As documents are compared: without the audience that is there by itself. */
const normalized = (run: Run, one: DescribedCredential): DescribedCredential => {
  const { audience, ...rest } = one;
  return audience === undefined || audience === run.call.ctx.environment.issuer ? rest : one;
};

function creationOf(run: Run, item: Item, { trusted_issuer, ...attributes }: DescribedCredential) {
  const [issuer] = recordsNamed(run.live, 'trusted_issuer', trusted_issuer);
  if (!issuer) return null;
  const relationships = {
    client: { data: { type: 'client', id: item.key } },
    trusted_issuer: { data: { type: 'trusted_issuer', id: issuer.id } },
  };
  return { data: { type: 'federated_credential', attributes, relationships } };
}

/** Takes away what the document doesn't have: before the client may change into one that can have none. */
export async function removeCredentials(run: Run, item: Item): Promise<void> {
  if (!item.federated_credentials) return;
  const requested = item.federated_credentials.map((one) => normalized(run, one));
  const live = run.live.credentials.get(item.key) ?? [];
  const gone = new Set(without(live.map(({ described }) => described), requested)); // prettier-ignore
  for (const { id } of live.filter(({ described }) => gone.has(described)))
    await attemptItem(run, { ...item, path: [...item.path, 'federated_credentials'] }, async (call) => {
      await perform(call, { kind: 'delete', resource: federated_credentials, id });
      return true;
    });
}

async function addCredential(run: Run, item: Item, one: DescribedCredential, path: Item['path']): Promise<void> {
  const document = creationOf(run, item, one);
  if (document) {
    await attemptItem(run, { ...item, path }, (call) =>
      perform(call, { kind: 'create', resource: federated_credentials, id: null, document }),
    );
    return;
  }
  const detail = `There is no trusted issuer "${one.trusted_issuer.slice(0, 200)}".`;
  if (!run.declared.has(`trusted_issuer ${one.trusted_issuer}`)) note(run, [...path, 'trusted_issuer'], 'related_not_found', detail);
}

function tell(run: Run, key: string, before: readonly DescribedCredential[], after: readonly DescribedCredential[]): void {
  const at = run.changes.findIndex((one) => one.kind === 'client' && one.key === key);
  const { action, attributes } = run.changes[at] ?? { action: 'update' as const, attributes: {} };
  const federated_credentials = [action === 'create' ? null : before, after] as const;
  const change: RecordChange = { action, kind: 'client', key, attributes: { ...attributes, federated_credentials } };
  if (at === -1) run.changes.push(change);
  else run.changes[at] = change;
}

/** Makes the federated credentials of a client those of the document, and tells the change; null: they were so already, or the document doesn't say. */
export async function writeCredentials(run: Run, item: Item, client: LiveRecord): Promise<LiveRecord | null> {
  if (!item.federated_credentials) return null;
  const requested = item.federated_credentials.map((one) => normalized(run, one));
  const had = (run.live.credentials.get(item.key) ?? []).map(({ described }) => described);
  const [before, after] = [sortedCredentials(had), sortedCredentials(requested)];
  const added = new Set(without(after, before));
  if (added.size === 0 && before.length === after.length) return null;
  for (const [index, one] of requested.entries())
    if (added.has(one)) await addCredential(run, item, one, [...item.path, 'federated_credentials', index]);
  tell(run, item.key, before, after);
  return { ...client, attributes: { ...client.attributes, federated_credentials: after } };
}
