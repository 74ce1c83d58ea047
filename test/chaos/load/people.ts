import { outcomeOf } from '../requests.js';
import { either, pause, type Actor } from '../world.js';
import { readRecord, users } from './records.js';

/** How often the mailbox is looked into. */
const looks = 10;

/** People register with a mailed code, as applications with their own pages do it; an account that was acknowledged is there. */
export function people(prefix: string): Actor {
  return async (world, random) => {
    const json = { accept: 'application/json' };
    for (let count = 1; !world.over(); count++) {
      await pause(random, 100, 400);
      const email = `${prefix}-${count}@example.com`;
      const started = await world.send(either(random), { path: '/register', json: { email }, headers: json });
      if (started.status !== 202) continue;
      let code: string | undefined;
      for (let tries = 0; tries < looks && code === undefined; tries++) {
        const box = await world.send(either(random), { path: `/dev/mailbox?to=${encodeURIComponent(email)}`, headers: json });
        const [mail] = (box.body['messages'] ?? []) as { text: string }[];
        code = /\b(?:\d{6}|\d{10})\b/.exec(mail?.text ?? '')?.[0];
        if (code === undefined) await pause(random, 100, 300);
      }
      if (code === undefined) continue;
      const { registration_id } = started.body;
      const verified = await world.send(either(random), { path: '/register/verify', json: { registration_id, code }, headers: json });
      if (verified.status !== 200) continue;
      const value = `${prefix} ${count}`;
      const form = {
        registration_token: verified.body['registration_token'],
        first_name: 'Ada',
        last_name: value,
        password: 'seven brown foxes at dawn',
      };
      for (let tries = 0; tries < 3; tries++) {
        const replica = either(random);
        const { outcome } = await world.recorder.record(
          { kind: 'register', replica },
          () => world.send(replica, { path: '/register/complete', json: form, headers: json }),
          (answer) => ({ outcome: outcomeOf(answer), writes: { record: `user:${email}`, value, event_type: 'user.registered' } }),
        );
        if (outcome !== 'unknown') break;
        await pause(random, 200, 2000);
      }
      await readRecord(world, either(random), users, email);
    }
  };
}
