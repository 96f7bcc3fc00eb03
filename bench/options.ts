import { readArguments, toChoices, toWhole } from '../build/tool-arguments.ts'

/** What can be measured alone; all of it by default. */
export const PARTS = [
  'vendor',
  'lookup',
  'verify',
  'live',
  'slow',
  'workers',
  'latency',
  'capacity',
  'start',
  'memory',
] as const
export type Part = (typeof PARTS)[number]

export type Options = {
  readonly rounds: number
  readonly seconds: number
  /** How many people the registry of the live verifications holds. */
  readonly records: number
  readonly parts: ReadonlySet<Part>
  readonly peers: boolean
  readonly json: boolean
  /** An earlier commit to measure in the same rounds. */
  readonly against: string | undefined
}

const HELP = `npm run bench -- [options]

How fast Tabbat is, beside bare node:http and others. Writes bench/results.json. See bench/README.md.

  --rounds N         rounds, of which the median counts (3)
  --seconds N        seconds for each measurement in a round (2)
  --records N        people in the registry of the live verifications (1000000)
  --only PARTS       parts, separated by commas (all): ${PARTS.join(', ')}
  --no-peers         leave out Prism, Mockoon and Express
  --against COMMIT   measure an earlier commit in the same rounds
  --json             print the report as JSON`

export function readOptions(): Options {
  const { values } = readArguments(HELP, {
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '2' },
    records: { type: 'string', default: '1000000' },
    only: { type: 'string', default: PARTS.join(',') },
    'no-peers': { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    against: { type: 'string' },
  })
  return {
    rounds: toWhole('--rounds', values.rounds),
    seconds: toWhole('--seconds', values.seconds),
    records: toWhole('--records', values.records),
    parts: new Set(toChoices('--only', values.only, PARTS)),
    peers: !values['no-peers'],
    json: values.json,
    against: values.against,
  }
}
