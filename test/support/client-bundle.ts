import { build } from 'esbuild';

/** A program that uses the typed client, as one file for Node and its like, or for browsers. */
export async function clientBundle(contents: string, platform: 'node' | 'browser'): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: '.', loader: 'ts' },
    alias: { 'identity-provider-client': './packages/client/src/index.ts' },
    bundle: true,
    format: 'esm',
    platform,
    write: false,
    logLevel: 'silent',
  });
  return outputFiles[0]?.text ?? '';
}
