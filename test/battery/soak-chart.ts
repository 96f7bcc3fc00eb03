import { MEASURES } from './soak-judge.ts'
import type { LaneReport, Sample } from './soak-lane.ts'

const [WIDTH, HEIGHT, LEFT, TOP] = [400, 96, 56, 26]
const [GAP_X, GAP_Y] = [28, 34]
const POINTS = 240

/** Readable on a light and on a dark page: it has a background of its own, which follows the theme. */
const STYLE = `svg{--back:#fff;--ink:#24292f;--soft:#d0d7de;--line:#0969da}
@media(prefers-color-scheme:dark){svg{--back:#0d1117;--ink:#e6edf3;--soft:#30363d;--line:#58a6ff}}
text{fill:var(--ink);font:11px system-ui,sans-serif}.title{font-weight:600}.axis{stroke:var(--soft)}
.quarter{stroke:var(--soft);stroke-dasharray:3 3}.line{fill:none;stroke:var(--line);stroke-width:1.2}`

/** A column for each database, a row for each measure. */
export function drawSoak(reports: readonly LaneReport[]): string {
  const width = reports.length * (LEFT + WIDTH + GAP_X)
  const height = MEASURES.length * (HEIGHT + GAP_Y) + TOP
  const boxes = reports.flatMap(({ engine, samples }, column) =>
    MEASURES.map(({ name, of }, row) => {
      const place = `translate(${column * (LEFT + WIDTH + GAP_X) + LEFT},${row * (HEIGHT + GAP_Y) + TOP})`
      return `<g transform="${place}">${drawBox(`${engine}: ${name}`, samples, of)}</g>`
    }),
  )
  const size = `width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"`
  return `<svg xmlns="http://www.w3.org/2000/svg" ${size} role="img" aria-label="Measures over the run, by database">
<style>${STYLE}</style><rect width="100%" height="100%" fill="var(--back)"/>
${boxes.join('\n')}
</svg>
`
}

function drawBox(title: string, samples: readonly Sample[], of: (sample: Sample) => number): string {
  const points = thin(samples.map(of))
  const endMs = samples.at(-1)?.atMs ?? 0
  const sorted = points.toSorted((a, b) => a - b)
  // A few windows with a slow vendor would flatten the rest.
  const top = Math.max((sorted[Math.floor(sorted.length * 0.98)] ?? 0) * 1.15, 1e-9)
  const path = points.map((value, at) => {
    const x = (at * WIDTH) / Math.max(1, points.length - 1)
    return `${x.toFixed(1)},${(HEIGHT - (Math.min(value, top) * HEIGHT) / top).toFixed(1)}`
  })
  const quarters = [1, 2, 3].map((quarter) => {
    const x = (quarter * WIDTH) / 4
    return `<line class="quarter" x1="${x}" x2="${x}" y1="0" y2="${HEIGHT}"/>`
  })
  return `<text class="title" y="-8">${title}</text>${quarters.join('')}<line class="axis" x2="${WIDTH}" y1="${HEIGHT}" y2="${HEIGHT}"/>
<text x="-6" y="10" text-anchor="end">${toShort(top)}</text><text x="-6" y="${HEIGHT}" text-anchor="end">0</text>
<text x="${WIDTH}" y="${HEIGHT + 14}" text-anchor="end">${(endMs / 60_000).toFixed(0)} min</text>
<polyline class="line" points="${path.join(' ')}"/>`
}

/** The median of neighbouring values. */
function thin(values: readonly number[]): number[] {
  const size = Math.max(1, Math.ceil(values.length / POINTS))
  return Array.from({ length: Math.ceil(values.length / size) }, (_each, at) => {
    const part = values.slice(at * size, (at + 1) * size).toSorted((a, b) => a - b)
    return part[part.length >> 1] ?? 0
  })
}

const toShort = (value: number) => (value >= 10 ? value.toFixed(0) : value.toFixed(1))
