import { createRequire } from 'node:module';

/** Loads a package when it is first asked for, at once: what few processes need costs the others neither a start nor memory. */
export const onDemand = createRequire(import.meta.url);
