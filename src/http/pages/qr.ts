/** A QR code (ISO/IEC 18004) as the path of an SVG: dark modules as squares of one unit, with the quiet zone of four around them. */
export type QrImage = { readonly size: number; readonly path: string };

const quietZone = 4;

/** The code of a text, with the error correction that suits screens. @throws {Error} for a text that is too long */
export async function qrImage(text: string): Promise<QrImage> {
  const { encodeQR } = await import('qr');
  const rows = encodeQR(text, 'raw', { ecc: 'medium', border: quietZone });
  const path = rows.flatMap((row, y) => runsOf(row).map(([x, length]) => `M${x} ${y}h${length}v1h-${length}z`)).join('');
  return { size: rows.length, path };
}

/** The runs of dark modules in a row: where each begins, and how long it is. */
function runsOf(row: readonly boolean[]): [number, number][] {
  const runs: [number, number][] = [];
  for (const [x, dark] of row.entries()) {
    const last = runs.at(-1);
    if (!dark) continue;
    if (last && last[0] + last[1] === x) last[1] += 1;
    else runs.push([x, 1]);
  }
  return runs;
}
