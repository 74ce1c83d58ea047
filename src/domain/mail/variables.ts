import type { Message, MessageKey } from '../../lib/languages/messages.js';

/**
 * What a mail template can name. `optional`, `message` and `mailbox` may be absent; `flag` and `list` are for sections; `address` is a link of ours, and the
 * only thing that a link may lead to.
 */
export type VariableKind = 'text' | 'optional' | 'message' | 'code' | 'address' | 'mailbox' | 'flag' | 'list' | 'sentence' | 'duration';

export type Variable<Kind extends VariableKind = VariableKind, Value = unknown> = {
  readonly kind: Kind;
  readonly description: string;
  /** What previews and tests show. */
  readonly sample: Value;
  /** What the button says that an address becomes in HTML. */
  readonly button?: MessageKey;
};

const of =
  <Kind extends VariableKind, Value>(kind: Kind) =>
  (description: string, sample: Value): Variable<Kind, Value> => ({ kind, description, sample });

export const textVariable = of<'text', string>('text');
export const optionalText = of<'optional', string | null>('optional');
/** A text of others in which no address is: whoever took it has looked (`lib/binding-message.ts`). Written unchanged. */
export const messageVariable = of<'message', string | null>('message');
/** What somebody types to prove that the mail arrived. */
export const codeVariable = of<'code', string>('code');
/** An absolute URL of ours, written unchanged; in HTML a button above it. */
export const address = (description: string, sample: string, button: MessageKey): Variable<'address', string> => ({
  ...of<'address', string>('address')(description, sample),
  button,
});
/** An email address, written unchanged. */
export const mailbox = of<'mailbox', string | null>('mailbox');
export const flag = of<'flag', boolean>('flag');
export const list = of<'list', readonly string[]>('list');
/** A text of ours, in the language of the template. */
export const sentence = of<'sentence', Message>('sentence');
/** Seconds, written as words in the language of the template. */
export const durationVariable = of<'duration', number>('duration');

export type Variables = Readonly<Record<string, Variable>>;

type Value<Kind extends VariableKind> = Kind extends 'flag'
  ? boolean
  : Kind extends 'duration'
    ? number
    : Kind extends 'sentence'
      ? Message
      : Kind extends 'list'
        ? readonly string[]
        : Kind extends 'optional' | 'message' | 'mailbox'
          ? string | null
          : string;

type Omittable = 'optional' | 'message' | 'flag' | 'mailbox';

export type ValuesOf<V extends Variables> = {
  [Name in keyof V as V[Name]['kind'] extends Omittable ? never : Name]: Value<V[Name]['kind']>;
} & { [Name in keyof V as V[Name]['kind'] extends Omittable ? Name : never]?: Value<V[Name]['kind']> | undefined };
