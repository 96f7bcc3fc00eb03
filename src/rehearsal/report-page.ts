import { type Check, type Finding, type Sample, toTime, toTimes, WORDS } from './finding.ts'

export type Report = {
  readonly format: 'tabbat-rehearsal'
  readonly version: 1
  readonly tabbat: string
  readonly startedAt: string
  readonly tookMs: number
  /** What was rehearsed on, in words. */
  readonly place: string
  /** What differs from the operator's settings. */
  readonly notes: readonly string[]
  readonly exitCode: number
  readonly findings: readonly Finding[]
}

/** For programs: names as in the other JSON of Tabbat. */
export const toReportJson = (report: Report, withSamples: boolean) => ({
  format: report.format,
  version: report.version,
  tabbat: report.tabbat,
  started_at: report.startedAt,
  took_ms: report.tookMs,
  place: report.place,
  notes: report.notes,
  exit_code: report.exitCode,
  exercises: report.findings.map(({ name, title, status, checks, notes, faults, samples, ...times }) => ({
    name,
    title,
    status,
    detect_ms: times.detectMs,
    recover_ms: times.recoverMs,
    took_ms: times.tookMs,
    checks,
    notes,
    faults,
    answers: samples.length,
    ...(withSamples && { samples }),
  })),
})

/** One page without any request: styles and charts are in it, and there is no script. */
export function toReportPage(report: Report): string {
  const { findings, startedAt, tabbat, tookMs, place, notes } = report
  const made = findings.filter(({ status }) => status !== 'skipped')
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="color-scheme" content="light dark">
<title>Rehearsal of ${startedAt.slice(0, 10)}: ${toHeadline(findings)}</title>
<style>${STYLE}</style>
</head>
<body>
<header>
<p class="kicker">Tabbat ${escapeHtml(tabbat)} · rehearsal of ${escapeHtml(toDay(startedAt))}</p>
<h1>${escapeHtml(capitalise(toHeadline(findings)))}</h1>
<p class="soft">${escapeHtml(`${made.length} of ${findings.length} exercises were made in ${toTime(tookMs)}, on ${place}.`)} The people are synthetic.</p>
${notes.map((note) => `<p class="soft">${escapeHtml(note)}</p>`).join('\n')}
</header>
<main>
<h2>Exercises</h2>
<ol class="list">
${findings.map(toSummaryItem).join('\n')}
</ol>
${made.map(toSection).join('\n')}
</main>
<footer><p class="soft">Noticed: from the fault until the service or its log showed it. Back: from the end of the fault until the service worked as before.
A rehearsal shows what happened here and now. It proves nothing about faults that it did not make.</p></footer>
</body>
</html>
`
}

/** "something differed", or what else is the result. */
export function toHeadline(findings: readonly Finding[]): string {
  const count = (status: Finding['status']) => findings.filter((finding) => finding.status === status).length
  const parts = (['differed', 'could_not_run', 'as_expected', 'skipped'] as const)
    .filter((status) => count(status) > 0)
    .map((status) => `${count(status)} ${WORDS[status]}`)
  return parts.join(', ') || 'no exercise was made'
}

const capitalise = (text: string) => text.charAt(0).toUpperCase() + text.slice(1)

const toDay = (iso: string) => `${iso.slice(0, 10)}, ${iso.slice(11, 16)} UTC`

const toPill = (status: Finding['status']) => `<span class="pill ${status}">${WORDS[status]}</span>`

function toSummaryItem(finding: Finding): string {
  const { name, title, status, notes } = finding
  const text = status === 'skipped' ? notes.join(' ') : toTimes(finding)
  const label = status === 'skipped' ? escapeHtml(title) : `<a href="#${name}">${escapeHtml(title)}</a>`
  return `<li><span>${label} ${toPill(status)}</span><span class="soft">${escapeHtml(text)}</span></li>`
}

function toSection(finding: Finding): string {
  const { name, title, status, checks, notes } = finding
  return `<section id="${name}">
<h2>${escapeHtml(title)} ${toPill(status)}</h2>
<p class="soft">${escapeHtml(toTimes(finding))}</p>
${toChart(finding)}
<dl>
${checks.map(toCheckItem).join('\n')}
</dl>
${notes.map((note) => `<p class="soft">${escapeHtml(note)}</p>`).join('\n')}
</section>`
}

const toCheckItem = ({ expected, seen, ok }: Check) =>
  `<div class="${ok ? 'ok' : 'wrong'}"><dt>${ok ? '✓' : '✗'} <span class="hidden">${ok ? 'As expected' : 'Differed'}: </span>${escapeHtml(expected)}</dt><dd>${escapeHtml(seen)}</dd></div>`

const WIDTH = 480
const HEIGHT = 200
const LEFT = 52
const RIGHT = 8
const TOP = 22
const BOTTOM = 26
/** More points than this are not told apart. */
const MAX_POINTS = 1200

/** From fast to slow, on a logarithmic scale. */
const TICKS_MS = [1, 10, 100, 1000, 10_000]
const SLOWEST_MS = 30_000

type Scale = { readonly x: (at: number) => number; readonly y: (ms: number) => number }

/** The answers over time, with the fault marked. Kinds differ by shape as well as by colour. */
function toChart({ samples, faults, tookMs, title }: Finding): string {
  if (samples.length === 0) return ''
  const begin = Math.min(samples[0]?.at ?? 0, ...faults.map(({ from }) => from))
  const scale: Scale = {
    x: (at) => LEFT + ((Math.min(at, tookMs) - begin) / Math.max(tookMs - begin, 1)) * (WIDTH - LEFT - RIGHT),
    y: (ms) =>
      HEIGHT -
      BOTTOM -
      (Math.log10(Math.min(Math.max(ms, 1), SLOWEST_MS)) / Math.log10(SLOWEST_MS)) * (HEIGHT - TOP - BOTTOM),
  }
  const kinds = Object.groupBy(thin(samples), toKind)
  const marks = (Object.keys(SHAPES) as (keyof typeof SHAPES)[]).map((kind) => {
    const points = (kinds[kind] ?? []).map(({ at, ms }) => SHAPES[kind](scale.x(at), scale.y(ms)))
    return points.length === 0 ? '' : `<path class="${kind}" d="${points.join('')}"/>`
  })
  return `<figure>
<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${escapeHtml(toDescription(title, samples))}">
${faults.map((fault, index) => toFault(fault, index, scale)).join('\n')}
${TICKS_MS.map((ms) => toTick(ms, scale.y(ms))).join('\n')}
${toTimeAxis(begin, tookMs, scale)}
${marks.join('\n')}
</svg>
<figcaption>Answers over time: how long each took, on a logarithmic scale. ● verified, <span aria-hidden="true">✕</span> refused, <span aria-hidden="true">▽</span> no answer. Shaded: the fault.</figcaption>
</figure>`
}

const toKind = ({ status, code }: Sample) =>
  status === 200 && code === 'verified' ? 'verified' : status === 0 ? 'silent' : 'refused'

const SHAPES = {
  verified: (x: number, y: number) => `M${round(x)} ${round(y)}h0`,
  refused: (x: number, y: number) => `M${round(x - 3)} ${round(y - 3)}l6 6m0-6l-6 6`,
  silent: (x: number, y: number) => `M${round(x - 4)} ${round(y - 3)}h8l-4 7z`,
} as const

const round = (value: number) => Number(value.toFixed(1))

/** Refused answers are all shown. */
function thin(samples: readonly Sample[]): readonly Sample[] {
  const every = Math.ceil(samples.length / MAX_POINTS)
  return samples.filter((sample, index) => index % every === 0 || toKind(sample) !== 'verified')
}

function toFault({ from, to, label }: Finding['faults'][number], index: number, { x }: Scale): string {
  const [start, end] = [x(from), x(to)]
  // A label that would leave the picture ends where the fault ends.
  const isLate = start > WIDTH * 0.55
  const text = `<text x="${round(isLate ? end : start)}" y="14"${isLate ? ' text-anchor="end"' : ''}>${escapeHtml(label)}</text>`
  const area = `<rect class="fault" x="${round(start)}" y="${TOP}" width="${round(Math.max(end - start, 2))}" height="${HEIGHT - TOP - BOTTOM}"/>`
  return index === 0 ? area + text : area
}

const toTick = (ms: number, y: number) =>
  `<line class="axis" x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${round(y)}" y2="${round(y)}"/><text x="${LEFT - 6}" y="${round(y + 4)}" text-anchor="end">${ms < 1000 ? `${ms} ms` : `${ms / 1000} s`}</text>`

function toTimeAxis(begin: number, end: number, { x }: Scale): string {
  const places = [begin, (begin + end) / 2, end]
  const anchors = ['start', 'middle', 'end']
  return places
    .map(
      (at, index) =>
        `<text x="${round(x(at))}" y="${HEIGHT - 6}" text-anchor="${anchors[index]}">${toTime(at - begin)}</text>`,
    )
    .join('')
}

function toDescription(title: string, samples: readonly Sample[]): string {
  const refused = samples.filter((sample) => toKind(sample) !== 'verified').length
  const slowest = Math.max(...samples.map(({ ms }) => ms))
  return `${title}: ${samples.length} answers, ${samples.length - refused} verified, ${refused} others, the slowest after ${toTime(slowest)}`
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}
/** A number and its unit stay on one line. */
const escapeHtml = (text: string) =>
  text.replace(/[&<>"']/g, (sign) => ENTITIES[sign] ?? '').replace(/(\d) (ms|s|min|h|days)\b/g, '$1&nbsp;$2')

const STYLE = `
:root { color-scheme: light dark; --paper: light-dark(#fbfbfa, #101413); --card: light-dark(#fff, #171c1a); --line: light-dark(#d9dcd7, #333b37);
  --ink: light-dark(#17201c, #e6ebe8); --soft: light-dark(#525d57, #a9b4ae); --good: light-dark(#0c6142, #6fd6a8); --good-back: light-dark(#e3f3ea, #15322a);
  --warn: light-dark(#7a4b00, #f0c265); --warn-back: light-dark(#fdf1d8, #35290f); --bad: light-dark(#a3201d, #ff9d94); --bad-back: light-dark(#fce8e6, #3b1a18);
  --fault: light-dark(#d0453e22, #e0645c33); }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 760px; padding: 24px 16px 48px; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 26px; line-height: 1.25; margin: 4px 0 8px; }
h2 { font-size: 18px; margin: 0 0 4px; }
main > h2 { margin: 28px 0 8px; }
p { margin: 6px 0; }
a { color: inherit; }
.kicker { font-size: 13px; color: var(--soft); margin: 0; }
.soft { color: var(--soft); font-size: 14px; }
.list { list-style: none; margin: 0; padding: 0; border-top: 1px solid var(--line); }
.list li { display: flex; flex-wrap: wrap; gap: 2px 16px; justify-content: space-between; padding: 8px 0; border-bottom: 1px solid var(--line); }
section { margin-top: 28px; padding: 16px; background: var(--card); border: 1px solid var(--line); border-radius: 8px; }
.pill { display: inline-block; padding: 0 8px; border-radius: 99px; font-size: 12px; font-weight: 600; line-height: 20px; vertical-align: 2px; white-space: nowrap;
  color: var(--soft); background: var(--paper); border: 1px solid var(--line); }
.pill.as_expected { color: var(--good); background: var(--good-back); border-color: transparent; }
.pill.differed { color: var(--bad); background: var(--bad-back); border-color: transparent; }
.pill.could_not_run { color: var(--warn); background: var(--warn-back); border-color: transparent; }
dl { margin: 12px 0 0; }
dl > div { padding: 6px 0 6px 10px; border-left: 3px solid var(--good); margin-bottom: 8px; }
dl > div.wrong { border-color: var(--bad); background: var(--bad-back); }
dt { font-weight: 600; }
dd { margin: 0; color: var(--soft); }
.wrong dd { color: var(--ink); }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
figure { margin: 12px 0; }
figcaption { font-size: 13px; color: var(--soft); }
svg { display: block; width: 100%; max-width: 640px; height: auto; }
svg text { fill: var(--soft); font-size: 13px; font-family: inherit; }
.axis { stroke: var(--line); }
.verified { stroke: var(--good); stroke-width: 5; stroke-linecap: round; }
.refused { stroke: var(--bad); stroke-width: 2; fill: none; }
.silent { stroke: var(--warn); stroke-width: 2; fill: none; }
.fault { fill: var(--fault); }
@media (prefers-contrast: more) { .soft, dd, figcaption, svg text { color: var(--ink); fill: var(--ink); } }
@media print { :root { color-scheme: light; } body { max-width: none; padding: 0; background: #fff; } section { break-inside: avoid; } a { text-decoration: none; } }
`
