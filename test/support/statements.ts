import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { statements } from '../../src/db/scope.js';

/** Tells the texts of the statements that the primary is asked from now on. @returns what ends it */
export function observeStatements(observe: (text: string) => void): () => void {
  const listener = (text: unknown) => observe(text as string);
  subscribe(statements.name, listener);
  return () => void unsubscribe(statements.name, listener);
}
