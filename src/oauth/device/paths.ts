import type { OnwardLink } from '../../errors.js';
import { devicePath } from '../../http/request/return-to.js';

export const deviceAnswerPath = '/device/answer';

/** The way on from a code that comes to nothing. */
export const anotherCode: OnwardLink = { href: devicePath, label: 'device.another_code' };
