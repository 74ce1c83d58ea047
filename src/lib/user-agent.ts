import type Bowser from 'bowser';
import { once } from './memo.js';
import { onDemand } from './on-demand.js';

/** For unknown browsers bowser returns text of the header itself; only names of these lists are used. Loaded when somebody's device is named. */
const bowser = once(() => {
  const { parse, BROWSER_MAP, OS_MAP } = onDemand('bowser') as typeof Bowser;
  return { parse, browsers: new Set<string>(Object.values(BROWSER_MAP)), systems: new Set<string>(Object.values(OS_MAP)) };
});

/** The name of a program, without anything that a mail program could make a link of. */
const product = /^([A-Za-z][A-Za-z-]{0,19})(?:\/|$)/;

const known = (names: ReadonlySet<string>, name: string | undefined) => (name !== undefined && names.has(name) ? name : null);

/** The names in a User-Agent header, of a browser, a program or a system; null when it says nothing. */
export function userAgentDevice(user_agent: string | null): { readonly name: string; readonly system: string | null } | null {
  if (!user_agent) return null;
  const { parse, browsers, systems } = bowser();
  const parsed = parse(user_agent.slice(0, 512));
  const [browser, system] = [known(browsers, parsed.browser.name), known(systems, parsed.os.name)];
  if (browser) return { name: browser, system };
  const name = product.exec(user_agent)?.[1] ?? system;
  return name === null ? null : { name, system: null };
}

/**
 * A User-Agent header in words, "Chrome on macOS"; a program's own name ("curl") when it is no browser; null when it says nothing. The
 * words go into mails: whoever sends the header must not be able to write there.
 */
export function deviceWords(user_agent: string | null): string | null {
  const device = userAgentDevice(user_agent);
  return device && (device.system === null ? device.name : `${device.name} on ${device.system}`);
}
