/** The few SVG marks that portraits are made of. */
export const shape = (d: string, fill: string) => `<path d="${d}" fill="${fill}"/>`

export const line = (d: string, stroke: string, width: number) =>
  `<path d="${d}" fill="none" stroke="${stroke}" stroke-width="${width}" stroke-linecap="round" stroke-linejoin="round"/>`

/** Round dots along a line, one every `gap`. */
export const dots = (d: string, fill: string, size: number, gap: number) =>
  `<g stroke-dasharray="0.1 ${gap}">${line(d, fill, size)}</g>`

export const oval = (x: number, y: number, rx: number, ry: number, fill: string) =>
  `<ellipse cx="${x}" cy="${y}" rx="${rx}" ry="${ry}" fill="${fill}"/>`

export const ring = (x: number, y: number, r: number, stroke: string, width: number) =>
  `<circle cx="${x}" cy="${y}" r="${r}" fill="none" stroke="${stroke}" stroke-width="${width}"/>`

/** The same mark on both sides of the face, the right one mirrored at the middle line. */
export const mirrored = (mark: string) => `${mark}<g transform="matrix(-1 0 0 1 320 0)">${mark}</g>`
