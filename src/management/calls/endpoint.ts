import type { z } from 'zod';
import type { Call } from '../call.js';

/** The value of a schema that may be left out. */
type Of<Schema> = Schema extends z.ZodObject ? z.infer<Schema> : Readonly<Record<never, unknown>>;

/** An answer is only read once it is made. */
type AnswerShape<Value> = Value extends readonly (infer Item)[]
  ? readonly AnswerShape<Item>[]
  : Value extends object
    ? { readonly [Name in keyof Value]: AnswerShape<Value[Name]> }
    : Value;

/**
 * What the Management API does that concerns no single record, as data: its address, what it takes and what it answers. The route, its checks,
 * OpenAPI, the reference page and the command line follow from it. Input and answer are the top-level `meta` of their documents; success is 200.
 */
export type Endpoint<Input extends z.ZodObject | undefined = z.ZodObject | undefined, Answer extends z.ZodObject = z.ZodObject> = {
  /** Unique, snake_case: the id of the operation in OpenAPI and the action of its audit entries, `{group}.{name}`. */
  readonly name: string;
  /** GET changes nothing and takes no input. */
  readonly method: 'GET' | 'POST';
  /** Below /api, without placeholders: `config/plan`. Its first segment is no collection's. */
  readonly path: string;
  /** What it is listed under, an entry of `endpointGroups`. */
  readonly group: string;
  readonly summary: string;
  readonly description?: string;
  /** The Management permissions without which nobody is let in; what it takes beyond them depends on the input, and `run` asks for it. */
  readonly permissions: readonly [string, ...string[]];
  /** Only for actors of the default environment. */
  readonly operators?: true;
  /** Changes something: people need the class of sign-in that writes take (RFC 9470). */
  readonly writes?: true;
  /** A strict object. Left out: a body is not read. */
  readonly input?: Input;
  /** How long a body may be, one of `bodyLimits`; that of documents unless given. */
  readonly maxBytes?: number;
  readonly answer: Answer;
  /** Statuses of refusals beside those that every endpoint has, for the documentation. */
  readonly refusals?: readonly number[];
  /** The words of the command line: `['config', 'plan']`. */
  readonly words: readonly [string, ...string[]];
  run(call: Call, input: Of<Input>): Promise<AnswerShape<z.infer<Answer>>>;
};

/** Declares an endpoint; inside, its input and answer are typed. */
export const endpoint = <Answer extends z.ZodObject, Input extends z.ZodObject | undefined = undefined>(
  definition: Endpoint<Input, Answer>,
): Endpoint => definition as unknown as Endpoint;
