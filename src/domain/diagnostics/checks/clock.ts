import { offsetOf } from '../../../db/postgres/time.js';
import { fixes } from '../../../lib/remedies.js';
import { check } from '../check.js';

const apartMs = 2000;
const farMs = 30_000;

export const clockCheck = check({
  id: 'clock',
  title: 'Clocks',
  inspects: 'How far this machine’s clock and the database’s are apart.',
  okText: 'This machine and the database agree on the time.',
  needs: 'database',
  faults: {
    far: {
      level: 'problem',
      when: 'they are 30 seconds apart or more',
      why: 'The service goes by the database’s clock; log lines, certificates and everything else on this machine don’t. If the database’s is the wrong one, clients refuse tokens.',
      mend: '`timedatectl set-ntp true` on the machine that is wrong',
    },
    apart: {
      level: 'warning',
      when: 'they are 2 seconds apart or more',
      why: 'A clock that isn’t kept in order drifts on; the service goes by the database’s.',
      mend: '`timedatectl set-ntp true` on the machine that is wrong',
    },
  },
  async run({ database }) {
    const { offset, uncertainty } = await database((trx) => offsetOf(trx));
    const apart = Math.abs(offset) - uncertainty;
    if (apart < apartMs) return [];
    const seconds = (Math.abs(offset) / 1000).toFixed(1);
    const finding = `This machine's clock is ${seconds} s ${offset < 0 ? 'ahead of' : 'behind'} the database's.`;
    return [{ fault: apart < farMs ? 'apart' : 'far', finding, fix: fixes.setClock() }];
  },
});
