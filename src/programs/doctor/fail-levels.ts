/** From which level on the exit code isn't 0. */
export const failLevels = ['notice', 'warning', 'problem'] as const;
export type FailLevel = (typeof failLevels)[number];
