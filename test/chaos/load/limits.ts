import type { Stage } from '../stage.js';
import { outcomeOf } from '../requests.js';
import { other, either, pause, type Actor, type World, type ReplicaName } from '../world.js';

/** The window of the run's settings, in milliseconds. */
const window_ms = 10_000;

/** More token requests than the limit of the client allows, spread over both replicas. */
export function limits(limited: Stage['limited'][number], resource: string): Actor {
  const { name, client, limit } = limited;
  const ask = (world: World, replica: ReplicaName) =>
    world.recorder.record(
      { kind: `token, ${name}`, replica },
      () =>
        world.send(replica, {
          path: '/oauth/token',
          headers: { authorization: client.authorization },
          form: { grant_type: 'client_credentials', resource },
        }),
      (answer) => {
        const reset_ms = Number(answer.headers['ratelimit-reset'] ?? 0) * 1000;
        return { outcome: outcomeOf(answer), takes: { window: name, limit, window_ms, reset_ms } };
      },
    );
  return async (world, random) => {
    const burst = Math.max(4, Math.ceil(limit / 10));
    while (!world.over()) {
      const first = either(random);
      await Promise.all(Array.from({ length: burst }, (_, index) => ask(world, index % 2 === 0 ? first : other(first))));
      // Several times what the limit allows, on a machine that isn't busy.
      await pause(random, 200, 500);
    }
  };
}
