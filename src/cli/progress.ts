import { createProgressLine, type ProgressLine } from '../registry/import/progress-line.ts'

/** Progress on standard error: a bar on a terminal, else a line at intervals. */
export type Progress = {
  /** `done` and `total` may be bytes or rows; `rows` is the number of rows done. */
  readonly show: (done: number, total: number, rows?: number) => void
  readonly clear: () => void
}

const NONE = { line: 0, changed: 0, rejected: 0, rejectedBytes: 0 }

export function createProgress(): Progress {
  let line: { readonly of: number; readonly shown: ProgressLine } | undefined
  return {
    show: (done, total, rows = done) => {
      if (line?.of !== total) line = { of: total, shown: createProgressLine(process.stderr, total) }
      line.shown.show({ ...NONE, offset: done, records: rows })
    },
    clear: () => line?.shown.clear(),
  }
}
