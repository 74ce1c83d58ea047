import type { ToOne } from '../resource.js';

/** Every record belongs to one environment. */
export const environmentLink: ToOne = {
  kind: 'one',
  to: 'environment',
  column: 'environment_id',
  description: 'The environment that it belongs to.',
};
