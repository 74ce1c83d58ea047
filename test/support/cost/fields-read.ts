import { IncomingMessage } from 'node:http';
import type { Parameters } from '../../../src/lib/parameters.js';

/** The names that handlers look up in the bodies of requests to services of this process. */
export type FieldsRead = {
  /** Since the last time that this was asked. */
  taken(): Set<string>;
  /** Whether bodies are watched: one of thousands of members takes longer when it is. */
  watches: boolean;
  stop(): void;
};

/** What a body has by name, and who asks for a name is noted; copies of it are made of what was sent alone. */
const noting = <T extends object>(members: T, note: (name: string | symbol) => void): T =>
  new Proxy(members, {
    get(target, name) {
      note(name);
      return Reflect.get(target, name) as unknown;
    },
    has(target, name) {
      note(name);
      return Reflect.has(target, name);
    },
    getOwnPropertyDescriptor(target, name) {
      note(name);
      return Reflect.getOwnPropertyDescriptor(target, name);
    },
  });

/** Notes what is read of `req.form` and `req.body`, which are where every form and JSON body is put (src/http/request/form.ts). */
export function watchFields(): FieldsRead {
  let names = new Set<string>();
  const note = (name: string | symbol) => void (typeof name === 'string' && names.add(name));
  const fields: FieldsRead = {
    watches: false,
    taken() {
      const taken = names;
      names = new Set();
      return taken;
    },
    stop() {
      for (const name of ['form', 'body']) Reflect.deleteProperty(IncomingMessage.prototype, name);
    },
  };
  const ofForm = (form: Parameters): Parameters => ({
    all: noting(form.all, note),
    repeated: form.repeated,
    get: (name) => (note(name), form.get(name)),
  });
  const put = (name: 'form' | 'body', watched: (value: object) => object) => {
    const kept = new WeakMap<IncomingMessage, unknown>();
    Object.defineProperty(IncomingMessage.prototype, name, {
      configurable: true,
      get(this: IncomingMessage) {
        return kept.get(this);
      },
      set(this: IncomingMessage, value: unknown) {
        const isRead = typeof value === 'object' && value !== null && !Buffer.isBuffer(value);
        kept.set(this, fields.watches && isRead ? watched(value) : value);
      },
    });
  };
  put('form', (form) => ofForm(form as Parameters));
  put('body', (body) => noting(body, note));
  return fields;
}
