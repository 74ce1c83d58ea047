// Images for branding: what is taken, and what an SVG is after it was written anew.
import { describe, expect, test } from 'vitest';
import { checkImage } from '../../src/lib/images/image.js';
import { sanitiseSvg } from '../../src/lib/images/svg.js';
import { png, smallWebp, svg, webp } from '../support/images.js';

const problem = (bytes: Buffer | string): string | undefined => {
  const checked = checkImage(Buffer.from(bytes as string));
  return 'problem' in checked ? checked.problem : undefined;
};
const typeOf = (bytes: Buffer | string) => {
  const checked = checkImage(Buffer.from(bytes as string));
  return 'problem' in checked ? checked.problem : checked.content_type;
};
const cleaned = (inside: string, attributes?: string) => sanitiseSvg(svg(inside, attributes)).text;

describe('the type of an image', () => {
  test('is that of its content', () => {
    expect([png(), smallWebp, svg('<path d="M0 0h9"/>'), `\ufeff\n<?xml version="1.0"?>${svg('')}`].map(typeOf)).toEqual([
      'image/png',
      'image/webp',
      'image/svg+xml',
      'image/svg+xml',
    ]);
    expect(['', 'GIF89a', '\xff\xd8\xff\xe0', '%PDF-1.7', '{}'].map(problem)).toEqual(Array(5).fill('The image must be PNG, WebP or SVG.'));
    expect([typeOf('<!doctype html><p>x'), typeOf('<html xmlns="http://www.w3.org/1999/xhtml"/>')]).toEqual([
      'The image is not well-formed XML.',
      'The image is no SVG: its outermost element is not svg.',
    ]);
  });

  test('is no other one behind the first, nor half of it (attack 42.821)', () => {
    const html = Buffer.from('<script>alert(1)</script>');
    for (const image of [png(), smallWebp]) {
      for (const bytes of [Buffer.concat([image, html]), image.subarray(0, -3), image.subarray(0, 20)])
        expect(problem(bytes)).toMatch(/damaged|is not/);
    }
    expect(problem(Buffer.concat([Buffer.from(svg('')), png()]))).toBe('The image is not UTF-8.');
    expect(problem(`${svg('')}<script xmlns="http://www.w3.org/1999/xhtml">1</script>`)).toBe('The image is not well-formed XML.');
    expect(problem(`${svg('')}%PDF-1.7`)).toBe('The image is not well-formed XML.');
  });

  test('a few bytes that unfold to many pixels or elements are refused, and nothing is unpacked to find out (attack 42.823)', () => {
    const many = (text: string) => `The image is ${text}`;
    expect(problem(png(1, 1, { width: 4096, height: 4096 }))).toBeUndefined();
    expect(problem(png(1, 1, { width: 4097, height: 1 }))).toBe(many('more than 4096 pixels wide or high.'));
    expect(problem(png(1, 1, { width: 0, height: 1 }))).toMatch(/damaged/);
    const extended = Buffer.alloc(10);
    extended.writeUIntLE(16_000_000, 4, 3);
    const lossless = Buffer.from([0x2f, 0xff, 0xff, 0xff, 0x0f]);
    const frame = Buffer.from([0, 0, 0, 0x9d, 0x01, 0x2a, 0xff, 0x3f, 0x01, 0x00]);
    for (const image of [webp('VP8X', extended), webp('VP8L', lossless), webp('VP8 ', frame)])
      expect(problem(image)).toBe(many('more than 4096 pixels wide or high.'));
    expect(problem(Buffer.alloc(512 * 1024 + 1, 0x89))).toBe(many('larger than 512 KiB.'));
    expect(problem(`<!DOCTYPE svg [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>${svg('<text>&b;</text>')}`)).toMatch(/declares entities/);
    expect(problem(svg('<text>&b;</text>'))).toMatch(/well-formed/);
    expect(problem(svg('<g/>'.repeat(5_000)))).toMatch(/more than 5000 elements/);
    expect(problem(svg('<g>'.repeat(70) + '</g>'.repeat(70)))).toMatch(/nested too deeply/);
    const levels = Array.from({ length: 10 }, (_, level) => `<g id="l${level + 1}">${`<use href="#l${level}"/>`.repeat(10)}</g>`).join('');
    expect(problem(svg(`<g id="l0"/>${levels}`))).toMatch(/too often/);
    const tiles = Array.from(
      { length: 10 },
      (_, level) => `<pattern id="p${level + 1}">${`<path fill="url(#p${level})"/>`.repeat(10)}</pattern>`,
    );
    expect(problem(svg(tiles.join('')))).toMatch(/too often/);
    const sheet = Array.from({ length: 10 }, (_, level) => `.c${level}{fill:url('#p${level}')}`).join('');
    const classed = tiles.map((tile, level) => tile.replaceAll(/fill="[^"]*"/g, `class="c${level}"`)).join('');
    expect(problem(svg(`<style>${sheet}</style>${classed}<path class="c9"/>`))).toMatch(/too often/);
    const chain = Array.from({ length: 4_000 }, (_, at) => `<g id="c${at}"><use href="#c${at + 1}"/></g>`).join('');
    expect(problem(svg(chain.slice(0, 100_000 - (100_000 % 1)).replace(/<g[^>]*>?(?:<use[^>]*)?$/, '')))).toBeDefined();
    // What points at itself is drawn by nobody.
    expect(problem(svg('<g id="a"><use href="#a"/><use href="#b"/></g><g id="b"><use href="#a"/></g>'))).toBeUndefined();
  });
});

describe('an SVG', () => {
  test('keeps what draws', () => {
    const drawing =
      '<title>Acme &amp; Söhne</title><defs><linearGradient id="a" gradientUnits="userSpaceOnUse"><stop offset="0" stop-color="#f00"/></linearGradient>' +
      '<clipPath id="b"><rect width="9" height="9"/></clipPath></defs><style>.st0{fill:url(#a)} @media (prefers-color-scheme: dark){.st0{fill:#fff}}</style>' +
      '<g class="st0" clip-path="url(#b)" transform="translate(1 2)"><path d="M0 0h9" style="fill:url(\'#a\')"/><text x="1">A<tspan dy="2">B</tspan></text></g><use href="#b"/>';
    const text = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 120 32">${drawing.replaceAll("'", "'")}</svg>\n`;
    expect(sanitiseSvg(svg(drawing))).toEqual({ text, removed: [] });
    // What is written anew stays as it is.
    expect(sanitiseSvg(text)).toEqual({ text, removed: [] });
  });

  test('comes from editors with what only they need', () => {
    const inkscape = `<?xml version="1.0"?><!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd">
<svg:svg xmlns:svg="http://www.w3.org/2000/svg" xmlns:i="http://www.inkscape.org/x" xmlns:xlink="http://www.w3.org/1999/xlink" i:version="1" data-name="x" width="9">
<!-- made by hand --><i:view><svg:path d="M9 9"/></i:view><svg:metadata>x</svg:metadata><svg:use xlink:href="#a" i:label="b"/></svg:svg>`;
    expect(sanitiseSvg(inkscape)).toEqual({
      text: '<svg xmlns="http://www.w3.org/2000/svg" width="9"><use href="#a"/></svg>\n',
      removed: [],
    });
    expect(sanitiseSvg('<svg><path d="M0 0"/></svg>').text).toBe('<svg xmlns="http://www.w3.org/2000/svg"><path d="M0 0"/></svg>\n');
  });

  test('that takes long to be counted is refused, with what was counted until then (attack 42.841)', () => {
    const nested = (elements: number, depth: number) => {
      const sheet = Array.from({ length: 300 }, (_, at) => `.a{fill:url(#s${at})}`).join('');
      const begin = Array.from({ length: depth }, (_, at) => `<g id="n${at}">`).join('');
      const uses = Array.from({ length: depth }, (_, at) => `<use href="#n${at}"/>`).join('');
      return svg(`<style>${sheet}</style>${begin}${'<g/>'.repeat(elements)}${'</g>'.repeat(depth)}${uses}`);
    };
    // What a style sheet points at in vain, or paints with, costs nothing.
    expect(problem(nested(100, 10))).toBeUndefined();
    expect(problem(svg('<style>.a{fill:url(#a)}</style>' + '<linearGradient id="a"/>' + '<g class="a"/>'.repeat(4_000)))).toBeUndefined();
    // 58 groups within each other, each of which is counted by itself and named where nothing is drawn of it.
    const unseen = `<g id="open">${Array.from({ length: 58 }, (_, at) => `<g id="n${at}" mask="url(#m${at})">`).join('')}`;
    const masks = Array.from({ length: 58 }, (_, at) => `<mask id="m${at}"><use href="#n${at}"/></mask>`).join('');
    const before = performance.now();
    expect(problem(svg(`${unseen}${'<g/>'.repeat(4_700)}${'</g>'.repeat(59)}${masks}`))).toMatch(/too often/);
    expect(problem(nested(4_800, 58))).toMatch(/too often/);
    expect(performance.now() - before).toBeLessThan(5_000);
  });

  test.each([
    ['brackets of selectors', ':is('.repeat(100_000)],
    ['rules in rules', 'a{'.repeat(100_000)],
    ['brackets of values', `a{width:${'calc('.repeat(33)}1px${')'.repeat(33)}}`],
  ])('loses CSS that browsers give up the page at: %s (attack 42.854)', (_, css) => {
    const { text, removed } = sanitiseSvg(svg(`<style>${css}</style><g style="${css}"/>`));
    expect(removed).toEqual(['<style>', 'style']);
    expect(text.length).toBeLessThan(200);
    const plain = '@media (prefers-color-scheme:dark){.a .b&gt;path:not(.c){fill:rgb(calc(1 + (2 * 3)),0,0)}}';
    expect(sanitiseSvg(svg(`<style>${plain.repeat(100)}</style>`)).removed).toEqual([]);
  });

  test('loses what runs, whatever it is wrapped in (attacks 42.820, 42.842)', () => {
    const hostile = [
      '<script>alert(1)</script>',
      '<script xlink:href="https://evil.example/x.js"/>',
      '<x:script xmlns:x="http://www.w3.org/2000/svg">alert(1)</x:script>',
      '<h:script xmlns:h="http://www.w3.org/1999/xhtml">alert(1)</h:script>',
      '<foreignObject><iframe xmlns="http://www.w3.org/1999/xhtml" src="javascript:alert(1)"/></foreignObject>',
      '<g onload="alert(1)" onclick="alert(1)" ONLOAD="alert(1)"/>',
      '<animate attributeName="href" values="javascript:alert(1)"/><set attributeName="onload" to="alert(1)"/>',
      '<a href="javascript:alert(1)" xlink:href="&#106;avascript:alert(1)"><text>x</text></a>',
      '<image href="https://evil.example/pixel.png"/><feImage href="https://evil.example/x"/>',
      '<use href="https://evil.example/x.svg#a"/><use xlink:href="data:image/svg+xml,alert(1)#a"/>',
      '<path fill="url(https://evil.example/x#a)" style="background:URL( //evil.example/x )"/>',
      '<path style="fill:u\\72l(https://evil.example/x)" mask="url(&quot;https://evil.example/&quot;)"/>',
      '<style>@import "https://evil.example/x.css";</style><style>@font-face{src:url(https://evil.example/f)}</style>',
      '<style><![CDATA[a{fill:url(https://evil.example)}</style><script>alert(1)</script>]]></style>',
      '<style>a{background-image:image-set("https://evil.example/x" 1x)}</style>',
      // Text that some programs take for that of the style sheet.
      '<style><desc>@import "https://evil.example/x.css";</desc><title>a{fill:url(https://evil.example)}</title></style>',
      '<?xml-stylesheet href="https://evil.example/x.css"?>',
      '<text>&lt;script&gt;alert(1)&lt;/script&gt;</text>',
      '<title>]]&gt;&lt;script&gt;</title><desc onclick="alert(1)">&#60;img src=x onerror=alert(1)&#62;</desc>',
      '<handler type="text/ecmascript">alert(1)</handler><audio src="x"/><video/><iframe/><embed/><object/><link href="x"/>',
    ];
    for (const inside of hostile) {
      const text = cleaned(inside, 'onload="alert(1)" xml:base="https://evil.example/"');
      expect(text).not.toMatch(
        /<(?:[\w.]+:)?(?:script|foreignObject|iframe|animate|set|image|feImage|handler|audio|video|embed|object|link)\b/i,
      );
      expect(text).not.toMatch(/<[^>]*\son\w+\s*=/i);
      expect(text).not.toMatch(/evil\.example|<[^>]*javascript:/i);
      expect(text).not.toMatch(/<[?!]/);
    }
    expect(sanitiseSvg(svg('<script/><g onload="x"><animate/></g><script/><use href="https://x"/>')).removed).toEqual([
      '<animate>',
      '<script>',
      'href',
      'onload',
    ]);
  });

  test('must be well-formed: what is read in two ways is read in none', () => {
    for (const text of [
      '<svg><g></svg>',
      '<svg',
      '<svg/><svg/>',
      '<svg a="1" a="2"/>',
      '<svg a=1/>',
      '<svg:svg/>',
      '<svg>&nbsp;</svg>',
      '<svg>\0</svg>',
    ])
      expect(problem(text)).toMatch(/^The image is not well-formed XML\.$/);
  });
});
