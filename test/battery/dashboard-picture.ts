import { CHROMIUM, launch } from '../console/browser.ts'
import type { Answer, Panel, Series } from './dashboard-query.ts'

const [COLUMN, ROW, WIDTH] = [58, 34, 24]
const COLOURS = ['#1f77b4', '#d62728', '#2ca02c', '#ff7f0e', '#9467bd', '#8c564b', '#17becf', '#7f7f7f']

/** Draws the panels where Grafana would put them. It is not Grafana: units and thresholds are left out. */
export async function drawPanels(
  panels: readonly Panel[],
  answers: readonly Answer[],
  file: string,
): Promise<string> {
  if (!CHROMIUM) return 'no picture: no Chromium is installed'
  const byPanel = Map.groupBy(answers, ({ panel }) => panel)
  const height = Math.max(...panels.map(({ gridPos: { y, h } }) => y + h)) * ROW
  const boxes = panels.map((panel) =>
    toBox(
      panel,
      (byPanel.get(panel) ?? []).flatMap(({ series }) => series),
    ),
  )
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH * COLUMN}" height="${height}" font-family="sans-serif" font-size="11">${boxes.join('')}</svg>`
  const browser = await launch()
  try {
    const page = await browser.newPage({ viewport: { width: WIDTH * COLUMN, height } })
    await page.setContent(`<body style="margin:0;background:#fff">${svg}</body>`)
    await page.screenshot({ path: file, fullPage: true })
  } finally {
    await browser.close()
  }
  return `the panels are drawn in ${file}`
}

function toBox({ title, type, gridPos: { x, y, w, h } }: Panel, series: readonly Series[]): string {
  const [width, height] = [w * COLUMN, h * ROW]
  const head = `<text x="8" y="16" font-weight="bold">${escapeText(title)}</text>`
  const frame =
    type === 'row'
      ? ''
      : `<rect x="2" y="2" width="${width - 4}" height="${height - 4}" fill="none" stroke="#ccc"/>`
  const content =
    type === 'row' ? '' : type === 'timeseries' ? toLines(series, width, height) : toValues(series)
  return `<g transform="translate(${x * COLUMN},${y * ROW})">${frame}${head}${content}</g>`
}

const toValues = (series: readonly Series[]) =>
  series
    .slice(0, 9)
    .map(
      (one, at) =>
        `<text x="8" y="${36 + at * 15}">${escapeText(toName(one))} ${toShort(lastOf(one))}</text>`,
    )
    .join('')

function toLines(series: readonly Series[], width: number, height: number): string {
  const points = series.flatMap(({ values }) => values.map(([time, value]) => [time, Number(value)] as const))
  const finite = points.filter(([, value]) => Number.isFinite(value))
  if (finite.length === 0) return '<text x="8" y="36">no data</text>'
  const [from, to] = [Math.min(...finite.map(([time]) => time)), Math.max(...finite.map(([time]) => time))]
  const top = Math.max(...finite.map(([, value]) => value), 1e-9)
  const [left, bottom] = [60, height - 12 - 14 * Math.min(series.length, 5)]
  const toX = (time: number) => left + ((time - from) / Math.max(to - from, 1)) * (width - left - 12)
  const toY = (value: number) => bottom - (value / top) * (bottom - 28)
  const lines = series.map(({ values }, at) => {
    const path = values
      .filter(([, value]) => Number.isFinite(Number(value)))
      .map(([time, value]) => `${toX(time).toFixed(1)},${toY(Number(value)).toFixed(1)}`)
    return `<polyline points="${path.join(' ')}" fill="none" stroke="${COLOURS[at % COLOURS.length]}" stroke-width="1.5"/>`
  })
  const legend = series.slice(0, 5).map((one, at) => {
    const text = `${escapeText(toName(one))} ${toShort(lastOf(one))}`
    return `<text x="${left}" y="${bottom + 14 * (at + 1)}" fill="${COLOURS[at % COLOURS.length]}">${text}</text>`
  })
  const axis = `<text x="8" y="34">${toShort(top)}</text><text x="8" y="${bottom}">0</text><line x1="${left}" y1="${bottom}" x2="${width - 12}" y2="${bottom}" stroke="#ccc"/>`
  return [axis, ...lines, ...legend].join('')
}

const toName = ({ metric }: Series) =>
  Object.entries(metric)
    .filter(([name]) => !['__name__', 'job', 'instance'].includes(name))
    .map(([, value]) => value)
    .join(' ') || 'all'

const lastOf = ({ values }: Series) =>
  Number(values.findLast(([, value]) => Number.isFinite(Number(value)))?.[1] ?? Number.NaN)

const toShort = (value: number) =>
  Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 }).format(value)

const escapeText = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
