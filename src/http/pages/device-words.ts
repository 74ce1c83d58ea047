import { userAgentDevice } from '../../lib/user-agent.js';
import type { Words } from './words.js';

/** A User-Agent header in the words of a language: "Chrome on macOS", a program's own name, or that nothing is known. */
export function deviceIn({ t }: Pick<Words, 't'>, user_agent: string | null): string {
  const device = userAgentDevice(user_agent);
  if (device === null) return t('common.device_unknown');
  return device.system === null ? device.name : t('common.device_on', { browser: device.name, system: device.system });
}
