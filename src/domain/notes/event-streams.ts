/** What streams read in one round: what several of them ask alike is asked once. */
export type Round = <T>(key: string, read: () => Promise<T>) => Promise<T>;

export type EventStream = {
  /** Whose it is, in which environment. */
  readonly subject: string;
  /** Ends it unless its reader may still read, and sends what there is. @returns whether there is more by now */
  advance(round: Round): Promise<boolean>;
  end(): void;
};

export type EventStreams = {
  /** @returns false, with nothing done, when the subject has as many as it may */
  add(stream: EventStream): boolean;
  remove(stream: EventStream): void;
  open(): readonly EventStream[];
  /** Ends all, and whatever comes later. */
  end(): void;
};

const maxPerSubject = 10;

export function createEventStreams(): EventStreams {
  const streams = new Set<EventStream>();
  let ended = false;
  return {
    add(stream) {
      if (ended || [...streams].filter(({ subject }) => subject === stream.subject).length >= maxPerSubject) return false;
      streams.add(stream);
      return true;
    },
    remove: (stream) => void streams.delete(stream),
    open: () => [...streams],
    end() {
      ended = true;
      for (const stream of streams) stream.end();
    },
  };
}
