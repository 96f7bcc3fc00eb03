import { DEMO_NOTICE } from '../contract/demo.ts'
import type { PersonReport, PersonRequest } from '../contract/person-report.ts'
import { HIDDEN } from '../contract/record.ts'
import { toLagosMoment } from '../contract/time.ts'
import { toFieldLabel, toFieldList, toReleasedWords } from './field-words.ts'

/** One thing of a report in plain words. The same for the terminal, CSV, the printed page and the console. */
export type ReportCard = {
  readonly title: string
  /** How a verification ended. */
  readonly outcome?: string | null
  /** Label and value. */
  readonly facts: readonly Fact[]
  /** Of a verification, which has a timeline in the audit log. */
  readonly reference?: string | null
}

export type ReportPart = {
  readonly title: string
  readonly cards: readonly ReportCard[]
  /** Sentences below the cards. */
  readonly notes: readonly string[]
}

type Fact = readonly [label: string, value: string]
type Field = { readonly name: string; readonly value: string }

/** A report as cards, in the order of reading. Nothing here needs Node: the console uses it too. */
export const toReportParts = (report: PersonReport): ReportPart[] =>
  [
    toAbout(report),
    toAsked(report),
    toHeld(report),
    toAccesses(report),
    toErasures(report),
    toLimits(report),
  ].filter(({ cards, notes }) => cards.length + notes.length > 0)

const toAbout = (report: PersonReport): ReportPart => ({
  title: 'This report',
  cards: [
    {
      title: `${report.kind.toUpperCase()} ${report.number}`,
      facts: [
        ['Made', `${toTime(report.generated_at)} by ${report.generated_by}`],
        ['Reason', report.reason],
        ['Values', report.values === 'shown' ? 'shown' : 'hidden: only which fields are filled'],
        ['Times', 'Lagos time (UTC+1)'],
      ],
    },
  ],
  notes: report.demonstration ? [DEMO_NOTICE] : [],
})

function toAsked({ kind, requests }: PersonReport): ReportPart {
  const [first, last] = [requests[0], requests.at(-1)]
  if (!first || !last)
    return { title: ASKED, cards: [], notes: ['The audit log has no verification of this number.'] }
  const keys = new Set(requests.map(({ key_id }) => key_id)).size
  return {
    title: ASKED,
    cards: requests.map((request) => toLookUp(kind, request)),
    notes: [
      `${toCount(requests.length, 'look-up')} by ${toCount(keys, 'API key')}, from ${toDay(first.started_at)} to ${toDay(last.started_at)}.`,
    ],
  }
}

const ASKED = 'Who asked'

function toLookUp(kind: PersonReport['kind'], request: PersonRequest): ReportCard {
  const { outcome, sources, amount, replayed_at, request_reference } = request
  return {
    title: `${toTime(request.started_at)}, ${toKey(request)}`,
    outcome,
    facts: [
      ['Result', outcome === null ? 'no outcome recorded' : toWords(outcome)],
      ['Released', toReleasedWords(kind, request.fields_released)],
      ['Purpose', request.purpose ?? 'none given'],
      ['Consent', request.consent_reference ?? 'none given'],
      ...(request.mode === 'test' ? [['Kind of key', 'test: the answer is a made-up person'] as const] : []),
      ...(amount === null ? [] : [['Amount', amount] as const]),
      [
        'Sources',
        sources.map(({ name, result }) => `${name}: ${toWords(result)}`).join(', ') || 'none asked',
      ],
      ...(replayed_at.length === 0 ? [] : [['Given again', toAgain(replayed_at)] as const]),
      ['Reference', request_reference],
    ],
    reference: request_reference,
  }
}

const MAX_TIMES = 5

function toAgain(times: readonly string[]): string {
  const shown = times.slice(0, MAX_TIMES).map(toTime).join('; ')
  return times.length > MAX_TIMES ? `${times.length} times, first ${shown}` : shown
}

/** A kind of thing that is held has its cards, or a sentence that there is none. */
function toHeld({ held }: PersonReport): ReportPart {
  const kinds: readonly (readonly [cards: readonly ReportCard[], ifNone: string])[] = [
    [toRecord(held), 'There is no record of this number.'],
    [held.kept_answers.map(toKept), 'No answers are kept under Idempotency-Keys.'],
    [held.queued.map(toQueued), 'No verification is pending or was answered later.'],
    [held.batch_rows.map(toBatchRow), 'No row of a batch is kept.'],
    [held.reused_results.map(toReused), 'No result of a vendor is kept for reuse.'],
  ]
  const failed = `Failed matches of the last day, counted under a keyed hash of the number: ${held.failed_matches}.`
  return {
    title: 'What is held',
    cards: kinds.flatMap(([cards]) => cards),
    notes: [[...kinds.flatMap(([cards, ifNone]) => (cards.length === 0 ? [ifNone] : [])), failed].join(' ')],
  }
}

type Held = PersonReport['held']

const toRecord = ({ record, picture }: Held): ReportCard[] =>
  record === null
    ? []
    : [
        {
          title: 'Record in the registry',
          facts: [
            ['Last import that had it', toDay(record.updated_at)],
            ...(picture ? [['Picture', `${picture.media_type}, ${picture.bytes} bytes`] as const] : []),
            ...toFieldFacts(record.fields),
          ],
        },
      ]

const toKept = (kept: Held['kept_answers'][number]): ReportCard => ({
  title: 'Answer kept under an Idempotency-Key',
  facts: [
    ['Key', toKey(kept)],
    ['Result', toWords(kept.outcome ?? 'unknown')],
    ['Kept until', toTime(kept.kept_until)],
    ...(kept.request_reference === null ? [] : [['Reference', kept.request_reference] as const]),
    ...toFieldFacts(kept.fields),
  ],
  reference: kept.request_reference,
})

const toQueued = (queued: Held['queued'][number]): ReportCard => ({
  title: queued.state === 'answered' ? 'Answer that came later' : 'Pending verification',
  facts: [
    ['Key', toKey(queued)],
    ['State', toWords(queued.state)],
    ['Accepted', toTime(queued.accepted_at)],
    ['Kept until', toTime(queued.kept_until)],
    ['Reference', queued.request_reference],
    ...toFieldFacts(queued.fields),
  ],
  reference: queued.request_reference,
})

const toBatchRow = (row: Held['batch_rows'][number]): ReportCard => ({
  title: `Line ${row.line} of a batch`,
  facts: [
    ['Key', toKey(row)],
    ['Batch', row.batch],
    ['State', row.is_waiting ? 'waiting' : 'asked'],
    ["Caller's word", row.label || 'none'],
    ['Reference', row.request_reference],
  ],
  reference: row.is_waiting ? null : row.request_reference,
})

const toReused = ({ source, kept_until, fields }: Held['reused_results'][number]): ReportCard => ({
  title: `Result of ${source}, kept for reuse`,
  facts: [['Kept until', toTime(kept_until)], ...toFieldFacts(fields)],
})

/** Values one by one. Fields without a value, and those whose value is hidden, are listed by their names. */
function toFieldFacts(fields: readonly Field[]): Fact[] {
  const own = fields.filter(({ name }) => !OF_THE_ANSWER.includes(name))
  const names = own.map(({ name }) => name)
  const list = (label: string, listed: string): Fact[] => {
    const found = new Set(own.filter(({ value }) => value === listed).map(({ name }) => name))
    return found.size === 0 ? [] : [[label, toFieldList(names, (name) => found.has(name))]]
  }
  return [
    ...own
      .filter(({ value }) => value !== '' && value !== HIDDEN)
      .map(({ name, value }): Fact => [toFieldLabel(name), value]),
    ...list('Filled, value not shown', HIDDEN),
    ...list('Empty', ''),
  ]
}

/** The card says these itself. */
const OF_THE_ANSWER = ['request_reference', 'verification_status', 'service_type']

const toAccesses = ({ accesses }: PersonReport): ReportPart => ({
  title: 'Other accesses',
  cards: accesses.map(({ time, what, outcome, detail, key_name }) => ({
    title: `${toTime(time)}, ${ACCESSES[what] ?? toWords(what)}`,
    facts: [
      ...(key_name === null ? [] : [['Key', key_name] as const]),
      ...(outcome === null || outcome === 'ok' ? [] : [['Result', toWords(outcome)] as const]),
      ...(detail ? [['Detail', detail] as const] : []),
    ],
  })),
  notes: accesses.length === 0 ? ['None.'] : [],
})

const ACCESSES: Readonly<Record<string, string>> = {
  person_reported: 'report made',
  record_viewed: 'record opened, values hidden',
  record_revealed: 'record opened, values shown',
  record_erased: 'erasure',
  picture_fetched: 'picture fetched',
  number_unlocked: 'number unlocked',
  audit_searched: 'audit log searched for this person',
  audit_exported: 'audit rows about this person exported',
}

const toErasures = ({ erased_at }: PersonReport): ReportPart => ({
  title: 'Erasures',
  cards: [],
  notes: erased_at.map((time) => `All data was erased on ${toTime(time)}.`),
})

const toLimits = ({ limits }: PersonReport): ReportPart => ({
  title: 'What this report cannot know',
  cards: [],
  notes: limits,
})

const toKey = ({ key_id, key_name }: { readonly key_id: string | null; readonly key_name: string | null }) =>
  key_name ?? key_id ?? 'unknown key'

const toWords = (code: string) => code.replaceAll('_', ' ')
const toTime = (time: string) => toLagosMoment(Date.parse(time))
const toDay = (time: string) => toTime(time).replace(/,.*/, '')
const toCount = (count: number, what: string) => `${count} ${what}${count === 1 ? '' : 's'}`
