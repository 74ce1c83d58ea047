import type { Reach, Touched } from '../domain/reach/reach.js';
import type { Call } from './call.js';
import type { Repeatable } from './idempotency.js';
import type { Reply } from './reply.js';
import type { Resource, ResourceRow, Written } from './resource.js';
import type { CheckedInput, Operation } from './write-kinds.js';

/** The rest of a request, which is read once its caller may send it. */
export type Received = {
  /** What was sent, as a document of JSON:API. */
  readonly document?: ResourceRow | undefined;
  /** What was sent in place of a document. */
  readonly prepared?: unknown;
  /** Makes the write one that may be repeated: it then has an `answer`. */
  readonly repeatable?: Repeatable | null | undefined;
  /** Composes the answer in the transaction of the write; null for one that shows no record. */
  readonly answer?: ((tx: Call, outcome: WriteResult) => Promise<Reply> | Reply) | undefined;
};

/** A write as the Management API, the dashboard and configuration documents ask for it. */
export type Write = Operation &
  Received & {
    readonly receive?: (call: Call) => Promise<Received>;
    /** The versions that the caller saw (`If-Match`); null accepts any. */
    readonly expected?: readonly number[] | null | undefined;
    /** The record as the caller has just read it, which isn't read again for what is made outside of the transaction. */
    readonly seen?: ResourceRow | undefined;
    /** What was made already, by whoever writes within a transaction. */
    readonly prepared?: unknown;
    /** An action on the new record, in the same transaction. */
    readonly followedBy?: string | undefined;
  };

/** A write that was done: the record of the answer (as it was, when it was deleted) and its resource. */
export type WriteResult = Written<ResourceRow> & { readonly resource: Resource };

/** How far a record that a write concerns reached before, and the effect on it, where that follows from the relationship that is changed. */
export type Weighed = {
  readonly resource: Resource;
  readonly row: ResourceRow | null;
  readonly before: Reach;
  readonly touched: readonly Touched[] | null;
};

export type State = {
  readonly call: Call;
  readonly write: Write;
  /** Collects the permissions that the write takes, for its repetitions; without it, reach isn't computed for who holds every permission. */
  readonly needed: Set<string> | undefined;
  /** The record as it was, held until the transaction ends; null: a new one. */
  readonly row: ResourceRow | null;
  readonly checked: CheckedInput | null;
  readonly prepared: unknown;
  readonly before: ResourceRow;
  readonly weighed: readonly Weighed[];
  readonly outcome: WriteResult | null;
  readonly after: ResourceRow;
  readonly reply: Reply;
};
