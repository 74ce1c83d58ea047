// Loaded before the service (bin/start.sh): stacks name the sources (docs/decisions/0010). Node's --enable-source-maps does so too, but reads each map with its
// file: a twelfth of a start, and 6 MiB. Here the first stack that passes a built file reads that file's.
'use strict';
const { readFileSync } = require('node:fs');
const { SourceMap } = require('node:module');
const { fileURLToPath } = require('node:url');

const maps = new Map();

function mapOf(url) {
  if (!maps.has(url)) {
    try {
      maps.set(url, new SourceMap(JSON.parse(readFileSync(`${fileURLToPath(url)}.map`, 'utf8'))));
    } catch {
      // Not a file, or one that nobody built.
      maps.set(url, null);
    }
  }
  return maps.get(url);
}

function named(site) {
  const [url, line, column] = [site.getFileName(), site.getLineNumber(), site.getColumnNumber()];
  const { originalSource, originalLine, originalColumn } = mapOf(url)?.findEntry(line - 1, column - 1) ?? {};
  if (originalSource === undefined) return String(site);
  const source = fileURLToPath(new URL(originalSource, url));
  return String(site).replace(`${url}:${line}:${column}`, () => `${source}:${originalLine + 1}:${originalColumn + 1}`);
}

Error.prepareStackTrace = (error, sites) => [Error.prototype.toString.call(error), ...sites.map(named)].join('\n    at ');
