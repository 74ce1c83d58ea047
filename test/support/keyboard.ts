import type { Locator, Page } from 'playwright-core';

/** What the browser says of the element that has the focus; null when that is the page itself. */
type Focus = {
  /** How it reads: `a "Create client"`, `input#name`. */
  readonly name: string;
  /** Why a person could not see where the focus is; empty when they can. */
  readonly hidden: string;
};

// Text, not a function: the browser has no types here. A ring is an outline of at least 2 px; nothing may lie over the element's middle.
const look = `(() => {
  const at = document.activeElement
  if (!at || at === document.body) return null
  const box = at.getBoundingClientRect()
  const style = getComputedStyle(at)
  const text = (at.getAttribute('aria-label') ?? at.textContent ?? '').trim().replace(/\\s+/g, ' ').slice(0, 60)
  const name = at.localName + (at.id ? '#' + at.id : '') + (text ? ' "' + text + '"' : '')
  const seen = { left: Math.max(box.left, 0), right: Math.min(box.right, innerWidth), top: Math.max(box.top, 0), bottom: Math.min(box.bottom, innerHeight) }
  const over = document.elementFromPoint((seen.left + seen.right) / 2, (seen.top + seen.bottom) / 2)
  const hidden = [
    box.width === 0 || box.height === 0 ? 'it has no size' : '',
    seen.right <= seen.left || seen.bottom <= seen.top ? 'it is out of sight' : '',
    at.matches(':focus-visible') ? '' : 'it does not show the focus',
    style.outlineStyle === 'none' || parseFloat(style.outlineWidth) < 2 ? 'it has no ring' : '',
    over && !at.contains(over) && !over.contains(at) ? over.localName + ' lies over it' : '',
  ].filter(Boolean).join(', ')
  return { name, hidden }
})()`;

/**
 * A person with a keyboard and nothing else: Tab, Shift+Tab, Enter, Space and typing. Every stop of the focus must be visible, with a ring
 * of its own and nothing over it (WCAG 2.4.7, 2.4.11).
 */
export class Keyboard {
  constructor(readonly page: Page) {}

  /** What has the focus, by name; null at the top of a page. @throws when it can't be seen */
  async focus(): Promise<string | null> {
    const found = (await this.page.evaluate(look)) as Focus | null;
    if (found && found.hidden !== '') throw new Error(`${this.page.url()}: the focus is on ${found.name}, but ${found.hidden}`);
    return found?.name ?? null;
  }

  /** Goes to the element, a stop at a time. @returns the names of the stops, the element's last. @throws when the keyboard never comes there */
  async to(target: Locator, { back = false } = {}): Promise<string[]> {
    const stops: string[] = [];
    for (let i = 0; i < 150; i++) {
      await this.page.keyboard.press(back ? 'Shift+Tab' : 'Tab');
      const name = await this.focus();
      if (name === null)
        throw new Error(`${this.page.url()}: the keyboard leaves the page before ${String(target)}; it stopped at ${stops.join(', ')}`);
      stops.push(name);
      if (await this.has(target)) return stops;
    }
    throw new Error(`${this.page.url()}: the keyboard never comes to ${String(target)}`);
  }

  has(target: Locator): Promise<boolean> {
    return target.first().evaluate((element) => element === element.ownerDocument.activeElement);
  }

  press(key: 'Enter' | 'Space' | 'Tab' | 'Shift+Tab' | 'Escape'): Promise<void> {
    return this.page.keyboard.press(key);
  }

  /** Replaces what the field that has the focus holds. */
  async type(text: string): Promise<void> {
    await this.page.keyboard.press('Control+A');
    await this.page.keyboard.type(text);
  }

  async fill(target: Locator, text: string): Promise<void> {
    await this.to(target);
    await this.type(text);
  }

  /** Goes to the link or button and presses it; the next page begins at its top, with the way past the navigation first. */
  async follow(target: Locator, url: string | RegExp, key: 'Enter' | 'Space' = 'Enter', from: { back?: boolean } = {}): Promise<void> {
    await this.to(target, from);
    await this.leave(key, url);
  }

  /** Presses a key that leads to another page, and waits for it. */
  async leave(key: 'Enter' | 'Space', url: string | RegExp): Promise<void> {
    await Promise.all([this.page.waitForURL(url), this.press(key)]);
    await this.page.waitForLoadState('domcontentloaded');
  }

  /** At the top of a page: the first stop is the link past the navigation, and it leads into the content. */
  async skip(): Promise<void> {
    const before = await this.focus();
    if (before !== null) throw new Error(`${this.page.url()}: the page begins at ${before}`);
    await this.press('Tab');
    const first = await this.focus();
    if (first !== 'a "Skip to content"') throw new Error(`${this.page.url()}: the first stop is ${first ?? 'nothing'}`);
    await this.press('Enter');
  }

  /** After a form that was refused for one field: the focus is in it. */
  async mendOne(field: Locator): Promise<void> {
    await field.and(this.page.locator('[autofocus]')).waitFor();
    if (!(await this.has(field))) throw new Error(`${this.page.url()}: after the refusal the focus is not in the field`);
    await this.focus();
  }

  /** After a form that was refused for several: the focus is on the summary; its link of the field leads into it. */
  async mend(field: Locator, link: Locator): Promise<void> {
    await this.page.locator('#error-summary').waitFor();
    const at = await this.focus();
    if (at?.startsWith('div#error-summary') !== true)
      throw new Error(`${this.page.url()}: after the refusal the focus is on ${at ?? 'the page'}`);
    await this.to(link);
    await this.press('Enter');
    if (!(await this.has(field))) throw new Error(`${this.page.url()}: the summary does not lead to the field`);
    await this.focus();
  }
}
