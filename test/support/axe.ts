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

/** What axe-core finds on the page, but in its frames: rule and the elements, empty when all is well. Works on pages whose scripts are off, too. */
export async function axeViolations(page: Page): Promise<string[]> {
  const session = await sessionOf(page);
  const { frameTree } = await session.send('Page.getFrameTree');
  const { executionContextId } = await session.send('Page.createIsolatedWorld', { frameId: frameTree.frame.id });
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
  await evaluate(source);
  // A colour on its way from the light to the dark has a contrast that nobody reads.
  await evaluate(`document.getAnimations().forEach((animation) => animation instanceof CSSTransition && animation.finish())`);
  const found = await evaluate(
    `axe.run(document, { reporter: 'no-passes', iframes: false }).then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.map((node) => node.html.slice(0, 160)).slice(0, 3).join(' | ')))`,
  );
  return found as string[];
}
