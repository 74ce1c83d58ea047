import { deviceParts } from '../../lib/user-agent.js';
import type { Words } from './words.js';

/** A User-Agent header in the words of a language: "Chrome on macOS", a program's own name, or that nothing is known. */
export function deviceIn({ t }: Pick<Words, 't'>, user_agent: string | null): string {
  const parts = deviceParts(user_agent);
  if (parts === null) return t('common.device_unknown');
  return parts.system === null ? parts.name : t('common.device_on', { browser: parts.name, system: parts.system });
}
