import { readdirSync, readFileSync } from 'node:fs';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { isForOperators } from '../../src/http/pages/pages.js';
import { languageTags } from '../../src/lib/languages/languages.js';
import { axeViolations } from '../support/axe.js';
import { launchChromium } from '../support/chromium.js';
import { needs } from '../support/programs.js';
import { startGallery, type Gallery } from '../support/gallery.js';
import { samplePages } from '../support/sample-pages.js';

const test = needs('chromium');

const logo = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><rect width="8" height="8"/></svg>';

const views = [
  { name: 'a desktop, light and dark', viewport: { width: 1280, height: 860 }, schemes: ['light', 'dark'], touch: false },
  { name: 'a small phone, dark', viewport: { width: 320, height: 568 }, schemes: ['dark'], touch: true },
] as const;

let gallery: Gallery;
let browser: Browser;

beforeAll(async () => {
  [gallery, browser] = await Promise.all([startGallery(), launchChromium()]);
});

afterAll(async () => {
  await browser?.close();
  await gallery?.close();
});

const focusRing = `(({ outlineWidth, outlineOffset, outlineStyle }) => [document.activeElement.matches(':focus-visible'), outlineWidth, outlineOffset, outlineStyle])(
  getComputedStyle(document.activeElement))`;

type Options = { view?: (typeof views)[number]; javaScriptEnabled?: boolean };

/** A context; `complaints` collects what the console or the policy has to say. */
async function openInside({ view = views[0], javaScriptEnabled = true }: Options = {}): Promise<{
  context: BrowserContext;
  complaints: string[];
}> {
  const { viewport, schemes, touch } = view;
  const context = await browser.newContext({
    viewport,
    colorScheme: schemes[0],
    hasTouch: touch,
    isMobile: touch,
    javaScriptEnabled,
    timezoneId: 'Asia/Tokyo',
    locale: 'en-GB',
  });
  const complaints: string[] = [];
  context.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  context.on('weberror', (error) => complaints.push(String(error.error())));
  return { context, complaints };
}

/** Gives whoever asks outside a logo. */
const outsideIsALogo = (context: BrowserContext) =>
  context.route('https://notes.example/**', (route) => route.fulfill({ contentType: 'image/svg+xml', body: logo }));

/** The same in which the outside world is a logo. */
async function open(options: Options = {}): ReturnType<typeof openInside> {
  const opened = await openInside(options);
  await outsideIsALogo(opened.context);
  return opened;
}

/** The form_post page leaves at once; for looking at it, its script stays away. */
async function newPage(context: BrowserContext): Promise<Page> {
  const page = await context.newPage();
  await page.route('**/assets/form-post-*.js', (route) => route.fulfill({ contentType: 'text/javascript', body: '' }));
  return page;
}

/** Two pages of one kind of context, of which Chromium keeps no style sheet for the one whose requests we answer: it is for the few pages that lead outside. */
async function pagesFor(newContext: () => Promise<BrowserContext>): Promise<{ of(name: string): Page; close(): Promise<void> }> {
  const [inside, outside] = [await newContext(), await newContext()];
  await outsideIsALogo(outside);
  const [plain, answered] = [await inside.newPage(), await newPage(outside)];
  return {
    of: (name) => (JSON.stringify(samplePages.get(name)?.model).includes('https://notes.example') ? answered : plain),
    close: async () => void (await Promise.all([inside.close(), outside.close()])),
  };
}

async function visit(context: BrowserContext, name: string): Promise<Page> {
  const page = await newPage(context);
  await page.goto(`${gallery.url}/${name}`);
  return page;
}

test('the colour schemes differ in colours alone: what else axe-core finds in one, it finds in the other', () => {
  const sheets = readdirSync('public').filter((name) => name.endsWith('.css'));
  expect(sheets).toContain('tokens.css');
  for (const name of sheets) {
    const style = readFileSync(`public/${name}`, 'utf8');
    expect(style, `in ${name}`).not.toContain('prefers-color-scheme');
    // Numbers of pixels, say, can't be in one: what it takes are two colours.
    for (const [line] of style.matchAll(/^.*light-dark\(.*$/gm)) expect(line).toMatch(/light-dark\((#|oklch\(|rgb\()/);
  }
});

describe.each(views)('on $name', (view) => {
  const complaints: string[][] = [];
  let pages: Awaited<ReturnType<typeof pagesFor>>;

  beforeAll(async () => {
    pages = await pagesFor(async () => {
      const opened = await openInside({ view });
      complaints.push(opened.complaints);
      return opened.context;
    });
  });

  afterAll(() => pages?.close());

  test.each([...samplePages.keys()])('%s can be used by everybody', async (name) => {
    const page = pages.of(name);
    await page.goto(`${gallery.url}/${name}`);
    for (const [index, colorScheme] of view.schemes.entries()) {
      // Without motion, colours don't fade from one scheme to the other while they are looked at.
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      expect(await axeViolations(page, index === 0 ? 'all' : 'colours'), `in the ${colorScheme} scheme`).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth'), 'nothing to scroll sideways').toBeLessThanOrEqual(0);
      expect(await page.evaluate(lowControls(view.touch ? 44 : 40)), 'controls are high enough').toEqual([]);
    }
    expect(
      complaints.flatMap((some) => some.splice(0)),
      'the console and the policy are silent',
    ).toEqual([]);
  });
});

/** The pages that people who sign in see: these are in their languages. */
const translated = [...samplePages].filter(([, { view }]) => !isForOperators(view)).map(([name]) => name);
/** One of each kind, for looking at with axe-core, which takes a second. */
const looked = [
  'login-client',
  'register',
  'login-verify-totp',
  'consent-native',
  'device-approval',
  'approval',
  'recovery-codes',
  'account-sign-in-methods',
  'error',
];

describe.each(languageTags.filter((tag) => tag !== 'en'))('in %s, on a small phone', (locale) => {
  test('pages can be used by everybody, and none scrolls sideways', { timeout: 180_000 }, async () => {
    const pages = await pagesFor(() => browser.newContext({ locale, viewport: { width: 320, height: 568 }, reducedMotion: 'reduce' }));
    const wrong: string[] = [];
    for (const name of translated) {
      const page = pages.of(name);
      await page.goto(`${gallery.url}/${name}`, { waitUntil: 'domcontentloaded' });
      const [lang, beyond] = (await page.evaluate(
        '[document.documentElement.lang, document.documentElement.scrollWidth - innerWidth]',
      )) as [string, number];
      if (lang !== locale) wrong.push(`${name} is in ${lang}`);
      if (beyond > 0) wrong.push(`${name}: ${beyond} px to scroll sideways`);
      if (looked.includes(name)) wrong.push(...(await axeViolations(page)).map((found) => `${name}: ${found}`));
    }
    await pages.close();
    expect(wrong).toEqual([]);
  });
});

/** A script that lists the visible controls below a height; a box within its label is as high as that. */
function lowControls(height: number): string {
  return `[...document.querySelectorAll('.button, input:not([type=hidden]), textarea')]
    .filter((element) => element.checkVisibility() && (/radio|checkbox/.test(element.type) ? element.labels[0] : element).getBoundingClientRect().height < ${height})
    .map((element) => element.outerHTML)`;
}

describe('by keyboard', () => {
  test('the skip link comes first and leads to the content', async () => {
    const { context } = await open();
    const page = await visit(context, 'account');
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to content');
    expect(await page.locator('.skip').boundingBox()).toMatchObject({ x: 8, y: 8 });
    await page.keyboard.press('Enter');
    expect(await page.evaluate('document.activeElement.id')).toBe('main');
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Review');
    await context.close();
  });

  test('the focus is a ring of 2 px, 2 px away', async () => {
    const { context } = await open();
    const page = await visit(context, 'login');
    for (const selector of ['#email', '#password', '#login button[type=submit]', '.links a']) {
      for (let tabs = 0; tabs < 3 && !(await page.evaluate(`document.activeElement.matches('${selector}')`)); tabs++) {
        await page.keyboard.press('Tab');
      }
      expect([selector, await page.evaluate(focusRing)]).toEqual([selector, [true, '2px', '2px', 'solid']]);
    }
    await context.close();
  });

  test.each([true, false])(
    'after an error the summary has the focus and leads to the field (JavaScript: %s)',
    async (javaScriptEnabled) => {
      const { context } = await open({ javaScriptEnabled });
      const page = await visit(context, 'login-invalid');
      await page.waitForFunction('document.activeElement.id === "error-summary"');
      await page.keyboard.press('Tab');
      await page.keyboard.press('Enter');
      await page.waitForFunction('document.activeElement.id === "email"');
      await context.close();
    },
  );
});

describe('with JavaScript', () => {
  test('passwords can be shown, and are a password again when sent', async () => {
    const { context } = await open();
    const page = await visit(context, 'login');
    await page.fill('#password', 'correct horse');
    await page.click('role=button[name="Show password"]');
    expect(await page.getAttribute('#password', 'type')).toBe('text');
    await page.click('role=button[name="Hide password"]');
    expect(await page.getAttribute('#password', 'type')).toBe('password');
    await page.click('role=button[name="Show password"]');
    await page.evaluate("document.querySelector('#login').addEventListener('submit', (event) => event.preventDefault())");
    await page.click('#login button[type=submit]');
    expect(await page.getAttribute('#password', 'type')).toBe('password');
    await context.close();
  });

  test('a second click sends nothing, and the button pressed is sent with its value', async () => {
    const { context } = await open();
    const page = await visit(context, 'consent');
    const posts: (string | null)[] = [];
    await page.route('**/oauth/authorize/consent', async (route) => {
      posts.push(route.request().postData());
      await route.fulfill({ status: 204 });
    });
    const sent = page.waitForResponse('**/oauth/authorize/consent');
    await page.evaluate(
      "const allow = document.querySelector('#allow'); allow.click(); allow.click(); document.querySelector('#deny').click()",
    );
    await sent;
    expect(posts).toEqual(['_csrf=csrf-sample&request=sealed&decision=allow']);
    expect(await page.getAttribute('#allow', 'aria-busy')).toBe('true');
    await context.close();
  });

  test('a code pasted with spaces is tidied', async () => {
    const { context } = await open();
    const page = await visit(context, 'register-verify');
    await page.locator('#code').fill(' 482-913 ');
    expect(await page.inputValue('#code')).toBe('482913');
    await context.close();
  });

  test('times are in the reader’s zone', async () => {
    const { context } = await open();
    const page = await visit(context, 'account');
    const time = page.locator('#session-s1 time');
    expect(await time.textContent()).toBe('21 Nov 2026, 18:05');
    expect(await time.getAttribute('title')).toBe('21 November 2026 at 09:05 UTC');
    await context.close();
  });

  test('the form_post page sends itself to the application, as its policy allows', async () => {
    const { context, complaints } = await open();
    const page = await context.newPage();
    const [request] = await Promise.all([
      page.waitForRequest('https://notes.example/callback'),
      page.goto(`${gallery.url}/form-post`, { waitUntil: 'commit' }),
    ]);
    expect(request.method()).toBe('POST');
    expect(request.postData()).toBe('code=sample&state=abc');
    expect(complaints).toEqual([]);
    await context.close();
  });
});

describe('without JavaScript', () => {
  test('the form_post page has a button', async () => {
    const { context } = await open({ javaScriptEnabled: false });
    const page = await context.newPage();
    await page.goto(`${gallery.url}/form-post`);
    const [request] = await Promise.all([page.waitForRequest('https://notes.example/callback'), page.click('text="Continue"')]);
    expect(request.postData()).toBe('code=sample&state=abc');
    await context.close();
  });

  test('nothing is there that needs it', async () => {
    const { context } = await open({ javaScriptEnabled: false });
    const page = await visit(context, 'login');
    expect(await page.locator('.reveal').count()).toBe(0);
    const sent = page.waitForRequest((request) => request.method() === 'POST');
    await page.fill('#email', 'ada@example.com');
    await page.fill('#password', 'correct horse');
    await page.keyboard.press('Enter');
    expect((await sent).postData()).toBe('_csrf=csrf-sample&email=ada%40example.com&password=correct+horse');
    await context.close();
  });
});

test('with reduced motion nothing fades', async () => {
  const context = await browser.newContext({ reducedMotion: 'reduce' });
  const page = await visit(context, 'login');
  expect(await page.evaluate("getComputedStyle(document.querySelector('.button')).transitionDuration")).toMatch(/^0s(, 0s)*$/);
  await context.close();
});
