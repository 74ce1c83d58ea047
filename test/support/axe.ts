import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { CDPSession, Page } from 'playwright-core';

const source = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** One for each page, which ends with it: where one is detached, a virtual authenticator of another one is gone. */
const sessions = new WeakMap<Page, CDPSession>();

async function sessionOf(page: Page): Promise<CDPSession> {
  const session = sessions.get(page) ?? (await page.context().newCDPSession(page));
  sessions.set(page, session);
  return session;
}

/**
 * The rules of axe-core that look at colours. All others look at what a page consists of and where it is, which is the same in both schemes: they differ in
 * `light-dark()` alone (test/browser/account-pages.test.ts holds that).
 */
const rulesOfColour = ['color-contrast', 'link-in-text-block'];

/**
 * What axe-core finds on the page, but in its frames: rule and the elements, empty when all is well. Works on pages whose scripts are off, too.
 * @param rules `colours` for a page that was looked at by all rules and has changed its colour scheme since
 */
export async function axeViolations(page: Page, rules: 'all' | 'colours' = 'all'): Promise<string[]> {
  const session = await sessionOf(page);
  const { frameTree } = await session.send('Page.getFrameTree');
  // By its name, the world of an earlier look at the same page is found again, with axe-core in it.
  const { executionContextId } = await session.send('Page.createIsolatedWorld', { frameId: frameTree.frame.id, worldName: 'axe' });
  const evaluate = async (expression: string) => {
    const answer = await session.send('Runtime.evaluate', {
      expression,
      contextId: executionContextId,
      awaitPromise: true,
      returnByValue: true,
    });
    if (answer.exceptionDetails) throw new Error(answer.exceptionDetails.exception?.description ?? answer.exceptionDetails.text);
    return answer.result.value as unknown;
  };
  if ((await evaluate('typeof axe')) === 'undefined') await evaluate(source);
  // A colour on its way from the light to the dark has a contrast that nobody reads.
  await evaluate(`document.getAnimations().forEach((animation) => animation instanceof CSSTransition && animation.finish())`);
  const options = { reporter: 'no-passes', iframes: false, ...(rules === 'colours' && { runOnly: rulesOfColour }) };
  const found = await evaluate(
    `axe.run(document, ${JSON.stringify(options)}).then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.map((node) => node.html.slice(0, 160)).slice(0, 3).join(' | ')))`,
  );
  return found as string[];
}
