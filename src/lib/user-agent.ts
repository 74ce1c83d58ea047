import Bowser from 'bowser';

const product = /^([A-Za-z][\w.-]{0,31})(?:\/|$)/;

/** A User-Agent header in words, "Chrome on macOS"; a program's own name ("curl") when it is no browser; null when it says nothing. */
export function deviceWords(user_agent: string | null): string | null {
  if (!user_agent) return null;
  const { browser, os } = Bowser.parse(user_agent.slice(0, 512));
  if (browser.name && os.name) return `${browser.name} on ${os.name}`;
  return browser.name || (product.exec(user_agent)?.[1] ?? null) || os.name || null;
}
