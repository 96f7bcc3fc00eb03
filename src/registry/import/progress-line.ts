import type { Progress } from './import-file.ts'

export type ProgressLine = {
  readonly show: (progress: Progress) => void
  /** Erases the live line. */
  readonly clear: () => void
}

type Screen = { readonly isTTY?: boolean; readonly write: (text: string) => unknown }

const LIVE_MS = 100
const PLAIN_MS = 5000
const BAR_CELLS = 24
const CLEAR_LINE = '\r\u001b[2K'

/** On a terminal one line that is updated, elsewhere a new line every few seconds. */
export function createProgressLine(
  screen: Screen,
  size: number | undefined,
  now = () => performance.now(),
): ProgressLine {
  const live = screen.isTTY === true
  const everyMs = live ? LIVE_MS : PLAIN_MS
  let begin: { readonly at: number; readonly progress: Progress } | undefined
  let shownAt = now()
  return {
    show: (progress) => {
      begin ??= { at: now(), progress }
      if (now() - shownAt < everyMs) return
      shownAt = now()
      const text = describe(begin.progress, progress, shownAt - begin.at, size, live)
      screen.write(live ? `${CLEAR_LINE}${text}` : `${text}\n`)
    },
    clear: () => {
      if (live) screen.write(CLEAR_LINE)
    },
  }
}

function describe(
  begin: Progress,
  { records, offset }: Progress,
  elapsedMs: number,
  size: number | undefined,
  live: boolean,
): string {
  const seconds = Math.max(elapsedMs, 1) / 1000
  const rows = `${toFigure(records)} rows, ${toFigure((records - begin.records) / seconds)} rows/s`
  if (size === undefined) return rows
  const part = Math.min(offset / size, 1)
  const bytesPerSecond = (offset - begin.offset) / seconds
  const left = bytesPerSecond > 0 ? `, ${toTime((size - offset) / bytesPerSecond)} left` : ''
  return `${live ? `${toBar(part)} ` : ''}${Math.floor(part * 100)} %, ${rows}${left}`
}

const toBar = (part: number) => {
  const full = Math.floor(part * BAR_CELLS)
  return `${'█'.repeat(full)}${'░'.repeat(BAR_CELLS - full)}`
}

/** 1 234 567 */
export const toFigure = (value: number) => String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, ' ')

/** 45 s, 3 min 20 s, 2 h 5 min */
export function toTime(seconds: number): string {
  const whole = Math.ceil(seconds)
  if (whole < 60) return `${whole} s`
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`
}
