/** Where deliveries go, and what signs them. */
export type Destination = { readonly url: string; readonly secret: string };

/** One thing to deliver: the exact bytes, and to which of the destinations. */
export type Message = { readonly destination: number; readonly event_id: string; readonly event_type: string; readonly body: string };

/** Something that delivers a backlog of messages: the service, a bare client, or a job queue with the same handler. */
export type Courier = {
  readonly name: string;
  readonly pid: number;
  /** Where it sends to, when it has its own secrets; without them it takes those of the bench. */
  readonly destinations: readonly Destination[];
  /** Stores a backlog that it can't see yet. */
  load(messages: readonly Message[]): Promise<void>;
  /** Lets it see the backlog: from here on counts. */
  go(): Promise<void>;
  /** Whether it has written down that all is delivered. */
  isDone(): Promise<boolean>;
  stop(): Promise<void>;
};
