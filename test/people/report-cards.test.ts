import { describe, expect, it } from 'vitest'
import type { PersonReport } from '../../src/contract/person-report.ts'
import { HIDDEN } from '../../src/contract/record.ts'
import { toHiddenFields, toReleasedFields } from '../../src/keys/field-policy.ts'
import { toFieldLabel, toReleasedWords } from '../../src/people/field-words.ts'
import { toReportParts } from '../../src/people/report-cards.ts'
import { toReportCsv, toReportPage, toReportText } from '../../src/people/report-formats.ts'

const released = (kind: 'nin' | 'bvn', hide: string[], reveal: string[] = []) =>
  toReleasedWords(kind, toReleasedFields(kind, toHiddenFields(hide, reveal)).split(','))

const ALL_OF_NIN = [
  ...['document_no', 'personal_info', 'next_of_kin', 'residential_info', 'indigene_info'],
  'education_profession',
]

describe('what was released, in words', () => {
  it.each([
    ['nin', [], [], 'all fields but next of kin, place of origin'],
    ['nin', [], ['next_of_kin'], 'all fields but place of origin'],
    ['nin', [], ['next_of_kin', 'place_of_origin'], 'all fields'],
    ['nin', ['indigene_info', 'religion'], [], 'all fields but religion, next of kin, origin and birth'],
    ['nin', ALL_OF_NIN.slice(1), [], 'document number'],
    ['bvn', ['nin', 'personal_info.phone_number_2'], [], 'all fields but NIN, second phone number'],
  ] as const)('%s, hidden %j, revealed %j: %s', (kind, hide, reveal, words) => {
    expect(released(kind, [...hide], [...reveal])).toBe(words)
  })

  it('is nothing where nothing was released, or the number alone', () => {
    expect(toReleasedWords('nin', [])).toBe('nothing')
    expect(released('nin', ALL_OF_NIN)).toBe('the number only')
  })
})

it('labels are plain words, also of a field that is not known', () => {
  expect(
    ['nin_number', 'next_of_kin.lga', 'indigene_info.lga_of_origin', 'some_new_field'].map(toFieldLabel),
  ).toEqual(['NIN number', 'Next of kin: LGA', 'LGA of origin', 'Some new field'])
})

const key = { key_id: 'Ab12Cd34', key_name: 'loans app', mode: 'live', operation: 'verify_nin' }

const REPORT: PersonReport = {
  organisation: ['Shop <Ltd>', '12 Marina Road'],
  generated_at: '2026-03-31T23:30:00.000Z',
  generated_by: 'ada',
  demonstration: false,
  reason: 'Request of access, case 17',
  kind: 'nin',
  number: '*******8901',
  values: 'shown',
  held: {
    record: {
      updated_at: '2026-03-31T23:30:00.000Z',
      fields: [
        { name: 'personal_info.first_name', value: 'Ada\u001b[2J\nForged: line' },
        { name: 'next_of_kin.surname', value: HIDDEN },
        { name: 'next_of_kin.lga', value: HIDDEN },
        { name: 'indigene_info.place_of_origin', value: HIDDEN },
        { name: 'indigene_info.lga_of_birth', value: '' },
        { name: 'document_no', value: '' },
      ],
    },
    picture: null,
    kept_answers: [],
    queued: [],
    batch_rows: [],
    reused_results: [],
    failed_matches: 2,
  },
  requests: [
    {
      ...key,
      request_reference: 'ver_1',
      started_at: '2026-03-31T23:30:00.000Z',
      ended_at: null,
      outcome: null,
      fields_released: [],
      consent_reference: null,
      purpose: 'loan',
      amount: null,
      sources: [{ name: 'dojah', result: 'not_found', ms: 3 }],
      replayed_at: Array.from({ length: 7 }, () => '2026-03-31T23:31:00.000Z'),
    },
  ],
  accesses: [],
  erased_at: [],
  limits: ['A limit.'],
}

describe('the cards of a report', () => {
  const parts = toReportParts(REPORT)
  const factsOf = (title: string) =>
    Object.fromEntries(parts.find((part) => part.title === title)?.cards[0]?.facts ?? [])

  it('of a look-up have Lagos time, plain words and the reference', () => {
    expect(parts.find(({ title }) => title === 'Who asked')).toMatchObject({
      cards: [{ title: '1 Apr 2026, 00:30:00, loans app', reference: 'ver_1' }],
      notes: ['1 look-up by 1 API key, from 1 Apr 2026 to 1 Apr 2026.'],
    })
    expect(factsOf('Who asked')).toEqual({
      Result: 'no outcome recorded',
      Released: 'nothing',
      Purpose: 'loan',
      Consent: 'none given',
      Sources: 'dojah: not found',
      'Given again': expect.stringMatching(/^7 times, first 1 Apr 2026, 00:31:00; /),
      Reference: 'ver_1',
    })
  })

  it('of what is held list values, and the names of fields that are empty or not shown', () => {
    expect(factsOf('What is held')).toEqual({
      'Last import that had it': '1 Apr 2026',
      'First name': 'Ada\u001b[2J\nForged: line',
      'Filled, value not shown': 'next of kin, place of origin',
      Empty: 'LGA of birth, document number',
    })
    expect(parts.find(({ title }) => title === 'What is held')?.notes.join(' ')).toMatch(
      /^No answers are kept.*: 2\.$/,
    )
  })

  it('leave out parts without content', () => {
    expect(parts.map(({ title }) => title)).toEqual([
      'This report',
      'Who asked',
      'What is held',
      'Other accesses',
      'What this report cannot know',
    ])
  })

  it('are the same in every form, and a value cannot begin a line of the text or be markup', () => {
    const text = toReportText(REPORT, (line) => line)
    expect(text).toContain('  First name: Ada [2J Forged: line\n')
    expect(toReportCsv(REPORT)).toContain('Who asked,1,Released,nothing\r\n')
    const page = toReportPage(REPORT)
    expect(page).toContain('<address><strong>Shop &lt;Ltd&gt;</strong><br>12 Marina Road</address>')
    expect(page).toContain('<dt>Released</dt><dd>nothing</dd>')
    expect(toReportPage({ ...REPORT, organisation: [] })).not.toContain('<address>')
  })
})

describe('the cards of what is held', () => {
  const fields = [{ name: 'personal_info.first_name', value: 'Ada' }]
  const time = '2026-03-31T23:30:00.000Z'
  const queued = {
    ...key,
    request_reference: 'ver_2',
    batch: null,
    accepted_at: time,
    kept_until: time,
    fields,
  }
  const row = { ...key, batch: 'bat_1', request_reference: 'ver_4' }
  const held = {
    ...REPORT.held,
    record: null,
    kept_answers: [
      { ...key, key_name: null, outcome: null, request_reference: null, kept_until: time, fields },
      { ...key, outcome: 'not_verified', request_reference: 'ver_1', kept_until: time, fields: [] },
    ],
    queued: [
      { ...queued, key_id: null, key_name: null, state: 'pending' },
      { ...queued, request_reference: 'ver_3', state: 'answered' },
    ],
    batch_rows: [
      { ...row, line: 1, is_waiting: true, label: '' },
      { ...row, line: 2, is_waiting: false, label: 'Customer 2' },
    ],
  }
  const [part] = toReportParts({ ...REPORT, held }).filter(({ title }) => title === 'What is held')
  const cards = part?.cards.map(({ facts, ...card }) => ({ ...card, ...Object.fromEntries(facts) }))
  const at = '1 Apr 2026, 00:30:00'

  it('of kept answers name the key by its id if it has no name, and the reference if it is known', () => {
    expect(cards?.slice(0, 2)).toEqual([
      {
        ...{ title: 'Answer kept under an Idempotency-Key', reference: null },
        ...{ Key: 'Ab12Cd34', Result: 'unknown', 'Kept until': at, 'First name': 'Ada' },
      },
      {
        ...{ title: 'Answer kept under an Idempotency-Key', reference: 'ver_1', Reference: 'ver_1' },
        ...{ Key: 'loans app', Result: 'not verified', 'Kept until': at },
      },
    ])
  })

  it('of the queue tell a question that waits from an answer that came later', () => {
    const common = { Accepted: at, 'Kept until': at, 'First name': 'Ada' }
    expect(cards?.slice(2, 4)).toEqual([
      {
        ...{ title: 'Pending verification', Key: 'unknown key', State: 'pending' },
        ...{ reference: 'ver_2', Reference: 'ver_2', ...common },
      },
      {
        ...{ title: 'Answer that came later', Key: 'loans app', State: 'answered' },
        ...{ reference: 'ver_3', Reference: 'ver_3', ...common },
      },
    ])
  })

  it('of rows of a batch have a timeline once they were asked', () => {
    const common = { Key: 'loans app', Batch: 'bat_1', Reference: 'ver_4' }
    expect(cards?.slice(4)).toEqual([
      { title: 'Line 1 of a batch', State: 'waiting', "Caller's word": 'none', reference: null, ...common },
      {
        ...{ title: 'Line 2 of a batch', State: 'asked', "Caller's word": 'Customer 2', reference: 'ver_4' },
        ...common,
      },
    ])
  })
})

it('a report of hidden values says so, and tells a test key, an amount, few replays and accesses', () => {
  const [request] = REPORT.requests
  const time = '2026-03-31T23:30:00.000Z'
  const parts = toReportParts({
    ...REPORT,
    values: 'hidden',
    requests: request
      ? [{ ...request, mode: 'test', amount: '10.00', sources: [], replayed_at: [time, time] }]
      : [],
    accesses: [
      { time, what: 'picture_fetched', key_name: 'loans app', outcome: 'not_found', detail: null },
      { time, what: 'a_new_phase', key_name: null, outcome: 'ok', detail: 'why' },
    ],
    erased_at: [time],
  })
  const factsOf = (title: string) =>
    parts.find((part) => part.title === title)?.cards.map(({ facts }) => Object.fromEntries(facts))
  expect(factsOf('This report')?.[0]).toMatchObject({ Values: 'hidden: only which fields are filled' })
  expect(factsOf('Who asked')?.[0]).toMatchObject({
    'Kind of key': 'test: the answer is a made-up person',
    Amount: '10.00',
    Sources: 'none asked',
    'Given again': '1 Apr 2026, 00:30:00; 1 Apr 2026, 00:30:00',
  })
  const accesses = parts.find(({ title }) => title === 'Other accesses')?.cards
  expect(accesses).toEqual([
    {
      title: '1 Apr 2026, 00:30:00, picture fetched',
      facts: [
        ['Key', 'loans app'],
        ['Result', 'not found'],
      ],
    },
    { title: '1 Apr 2026, 00:30:00, a new phase', facts: [['Detail', 'why']] },
  ])
  expect(parts.find(({ title }) => title === 'Erasures')?.notes).toEqual([
    'All data was erased on 1 Apr 2026, 00:30:00.',
  ])
})
