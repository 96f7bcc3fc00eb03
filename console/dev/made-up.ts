import type { AuditLine } from '../../src/admin/shapes/audit.ts'
import type { CatalogueView } from '../../src/admin/shapes/catalogue.ts'
import type { Keys, UsedKey } from '../../src/admin/shapes/keys.ts'
import type { Overview, SourceState } from '../../src/admin/shapes/overview.ts'
import type { RecordView } from '../../src/admin/shapes/records.ts'
import type { SettingsView } from '../../src/admin/shapes/settings.ts'
import type { SourceList } from '../../src/admin/shapes/sources.ts'
import type { TryForms } from '../../src/admin/shapes/try.ts'

/* Everything here is made up. Some names are hostile: the page must show them as text. */

type Range = Overview['range']

const HOSTILE = '<script>alert(1)</script>'
const SECOND = 1000
const HOUR = 3600 * SECOND
const DAY = 24 * HOUR
export const ago = (ms: number) => new Date(Date.now() - ms).toISOString()

const RANGES: Readonly<Record<Range, { steps: number; seconds: number }>> = {
  hour: { steps: 60, seconds: 60 },
  day: { steps: 24, seconds: 3600 },
  week: { steps: 168, seconds: 3600 },
  month: { steps: 30, seconds: 86_400 },
}

const source = (name: string, operation: string, part: Partial<SourceState> = {}): SourceState => ({
  source: name,
  operation,
  node: 'node-1',
  state: 'closed',
  disabled: false,
  calls: 1284,
  error_rate: 0.012,
  p50_ms: 412,
  p95_ms: 1130,
  p99_ms: 2860,
  last_success_at: ago(20 * SECOND),
  calls_today: 3120,
  spent_kobo_today: 18_720_000,
  cap_kobo: 25_000_000,
  is_capped: false,
  ...part,
})

const NO_NUMBERS = { error_rate: null, p50_ms: null, p95_ms: null, p99_ms: null, last_success_at: null }

export const toSources = (disabled: ReadonlySet<string>): SourceState[] =>
  [
    source('registry', 'verify_nin', {
      p50_ms: 2,
      p95_ms: 4,
      p99_ms: 9,
      error_rate: 0,
      spent_kobo_today: 0,
      cap_kobo: null,
    }),
    source('dojah', 'verify_nin'),
    source('dojah', 'verify_bvn', { state: 'half_open', error_rate: 0.31, spent_kobo_today: 23_900_000 }),
    source('prembly', 'verify_nin', {
      state: 'open',
      error_rate: 0.87,
      calls: 44,
      spent_kobo_today: 90_000,
      cap_kobo: null,
    }),
    source(HOSTILE, 'verify_bvn', {
      ...NO_NUMBERS,
      state: 'not_running',
      calls: null,
      calls_today: 0,
      spent_kobo_today: 0,
    }),
  ].map((row) => (disabled.has(row.source) ? { ...row, state: 'disabled', disabled: true } : row))

export function toOverview(
  range: Range,
  mode: Overview['mode'],
  isEmpty: boolean,
  disabled: ReadonlySet<string>,
): Overview {
  const { steps: count, seconds } = RANGES[range]
  const end = Math.floor(Date.now() / 1000 / seconds) * seconds
  const steps = Array.from({ length: count }, (_, index) => {
    const wave = isEmpty ? 0 : (Math.sin(index / 3.7) + 1.4) * 40 + ((index * 37) % 23)
    return {
      at: new Date((end - (count - 1 - index) * seconds) * 1000).toISOString(),
      verified: Math.round(wave),
      not_verified: Math.round(wave / 6),
      failed: index % 11 === 4 ? Math.round(wave / 9) : 0,
    }
  })
  const sum = (name: 'verified' | 'not_verified' | 'failed') =>
    steps.reduce((all, step) => all + step[name], 0)
  const totals = { verified: sum('verified'), not_verified: sum('not_verified'), failed: sum('failed') }
  const all = totals.verified + totals.not_verified + totals.failed
  return {
    range,
    mode,
    made_at: ago(0),
    steps,
    step_seconds: seconds,
    totals,
    success_rate: isEmpty ? null : 1 - totals.failed / all,
    latency: isEmpty ? null : { p50_ms: 390, p95_ms: 1240, p99_ms: 3100 },
    keys: isEmpty
      ? []
      : toKeys().keys.map((key, index) => ({ ...pickKey(key), verifications: 900 - index * 260 })),
    by_source: isEmpty
      ? []
      : [
          { source: 'dojah', verifications: 1420 },
          { source: 'registry', verifications: 611 },
          { source: 'sandbox', verifications: 204 },
        ],
    sources: isEmpty ? [] : toSources(disabled),
    errors: isEmpty
      ? []
      : ['source_unavailable', 'timeout', 'overloaded'].map((outcome, index) => ({
          at: ago(index * 17 * 60 * SECOND),
          operation: index === 1 ? 'verify_bvn' : 'verify_nin',
          outcome,
          key_id: 'a1B2c3D4',
          count: index * 3 + 1,
          reference: index === 2 ? null : `ver_06f4kq1v5s9m3c7d2hxg8t0zab4n6p1r5w9y3e${index}k`,
        })),
  }
}

const pickKey = ({ id, name, mode }: UsedKey) => ({ id, name, mode })

const key = (part: Partial<UsedKey>): UsedKey => ({
  id: 'a1B2c3D4',
  name: 'Loans app, production',
  mode: 'live',
  state: 'active',
  scopes: ['kyc:nin', 'kyc:bvn'],
  allowed_ips: ['203.0.113.7'],
  hide: ['personal_info.religion'],
  reveal: [],
  requires_consent: true,
  subjects_per_day: 5000,
  created_at: ago(40 * DAY),
  expires_at: null,
  revoked_at: null,
  rolled_to: null,
  verifications_30d: 28_412,
  last_used_at: ago(HOUR),
  ...part,
})

const field = (name: string, hidden_by_default = false) => ({ name, hidden_by_default })

export const toKeys = (): Keys => ({
  keys: [
    key({}),
    key({ id: 'Zz9Yx8Wv', name: HOSTILE, mode: 'test', expires_at: ago(-60 * DAY), verifications_30d: 312 }),
    key({
      id: 'Qq7Rr6Ss',
      name: 'javascript:alert(1)',
      state: 'revoked',
      revoked_at: ago(DAY),
      verifications_30d: 0,
      last_used_at: null,
    }),
  ],
  scopes: ['kyc:nin', 'kyc:bvn', 'catalogue:read'],
  field_groups: [
    { group: 'record', fields: [field('nin_number'), field('document_no', true)] },
    {
      group: 'personal_info',
      fields: [
        'first_name',
        'middle_name',
        'last_name',
        'gender',
        'phone_number',
        'date_of_birth',
        'image_url',
        'religion',
      ].map((name) => field(`personal_info.${name}`)),
    },
    {
      group: 'indigene_info',
      fields: [field('indigene_info.lga_of_origin'), field('indigene_info.place_of_origin', true)],
    },
  ],
  subjects_per_day_default: 10_000,
})

export const toPersonBody = (hidden: readonly string[] = ['indigene_info.place_of_origin']) => {
  const shown = (name: string, value: string) => (hidden.includes(name) ? '****' : value)
  const group = (prefix: string, values: Record<string, string>) =>
    Object.fromEntries(
      Object.entries(values).map(([name, value]) => [name, shown(`${prefix}.${name}`, value)]),
    )
  return {
    success: true,
    message: 'NIN verification completed successfully',
    data: {
      request_reference: 'ver_06f4kq1v5s9m3c7d2hxg8t0zab4n6p1r5w9y3e7k',
      nin_number: shown('nin_number', '12345678901'),
      verification_status: 'VERIFIED',
      service_type: 'NIN',
      personal_info: group('personal_info', {
        title: 'Mrs',
        first_name: HOSTILE,
        middle_name: 'javascript:alert(1)',
        last_name: 'Example',
        gender: 'f',
        phone_number: '08031234567',
        date_of_birth: '05-01-1990',
        religion: '',
        image_url: 'http://127.0.0.1:8080/media/made-up.svg',
      }),
      indigene_info: group('indigene_info', { lga_of_origin: 'Ikeja', place_of_origin: 'Ikeja' }),
    },
  }
}

const PHONE = {
  name: 'phone',
  description: 'Phone number of the customer, in any usual spelling of a Nigerian mobile number.',
  example: '08031234567',
  required: true,
  choices: null,
}
const NIN = {
  name: 'nin',
  description: 'National identity number of the customer: 11 digits, as a string.',
  example: '12345678901',
  required: true,
  choices: null,
}
const BVN = {
  name: 'bvn',
  description: 'Bank verification number of the customer: 11 digits, as a string.',
  example: '22345678901',
  required: true,
  choices: null,
}
const AMOUNT = {
  name: 'amount',
  description: 'An amount as decimal text. It is validated and audited, and never sent to a source.',
  example: '100.00',
  required: true,
  choices: null,
}

export const TRY_FORMS: TryForms = {
  sandbox_key: 'tbt_test_sandbox0publicpublicpublicpublicpublic0k3y',
  base_url: 'http://127.0.0.1:8080',
  operations: [
    {
      operation: 'verify_nin',
      operation_id: 'verifyNin',
      method: 'POST',
      path: '/api/v2/kyc/verify-nin',
      input_from: 'body',
      summary: 'Verify a NIN against a phone number',
      description:
        'Answers 200 only when a record with this NIN exists and the phone belongs to it. A NIN that nobody has and a phone that does not match give the same 422.',
      fields: [NIN, PHONE],
      scenarios: ['Verified', 'Not verified', 'Source unavailable', 'Slow answer'].map((title, index) => ({
        title,
        input: { nin: `0000000000${index + 1}`, phone: '08031234567' },
      })),
    },
    {
      operation: 'verify_bvn',
      operation_id: 'verifyBvn',
      method: 'POST',
      path: '/api/v2/kyc/verify-bvn',
      input_from: 'body',
      summary: 'Verify a BVN against a phone number',
      description: 'Answers 200 only when a record with this BVN exists and the phone belongs to it.',
      fields: [BVN, PHONE, AMOUNT],
      scenarios: [
        { title: 'Verified', input: { bvn: '22345678901', phone: '08031234567', amount: '100.00' } },
      ],
    },
    {
      operation: 'list_internet_bundles',
      operation_id: 'listInternetBundles',
      method: 'GET',
      path: '/api/v2/bills/internet/bundles/:provider',
      input_from: 'path',
      summary: 'List the bundles of an internet provider',
      description: 'The bundles in force, with their prices.',
      fields: [
        {
          name: 'provider',
          description: 'Internet provider, in any case.',
          example: 'smile',
          required: true,
          choices: ['smile', 'spectranet'],
        },
      ],
      scenarios: [{ title: 'Smile', input: { provider: 'smile' } }],
    },
    {
      operation: 'list_sme_bundles',
      operation_id: 'listSmeBundles',
      method: 'GET',
      path: '/api/v2/bills/sme/bundles',
      input_from: 'path',
      summary: 'List the SME bundles',
      description: 'The bundles in force.',
      fields: [],
      scenarios: [],
    },
    {
      operation: 'list_tv_add_ons',
      operation_id: 'listTvAddOns',
      method: 'POST',
      path: '/api/v2/bills/tv/add-ons',
      input_from: 'body or query',
      summary: 'List the add-ons of a TV product',
      description: 'The add-ons that go with a base product.',
      fields: [
        {
          name: 'type',
          description: 'TV provider, in any case.',
          example: 'DSTV',
          required: true,
          choices: ['DSTV', 'GOTV', 'STARTIMES', 'SHOWMAX'],
        },
        {
          name: 'productCode',
          description: 'Code of the base product, in any case.',
          example: 'COMPE36',
          required: true,
          choices: null,
        },
      ],
      scenarios: [{ title: 'Compact', input: { type: 'DSTV', productCode: 'COMPE36' } }],
    },
  ],
}

const line = (part: Partial<AuditLine>): AuditLine => ({
  chain: 'node-1',
  sequence: 1,
  time: ago(HOUR),
  phase: 'intent',
  request_reference: 'ver_06f4kq1v5s9m3c7d2hxg8t0zab4n6p1r5w9y3e7k',
  key_id: 'a1B2c3D4',
  mode: 'live',
  operation: 'verify_nin',
  outcome: null,
  tried: [],
  amount: null,
  consent_reference: 'consent-4711',
  fields_released: null,
  detail: null,
  hash: '9f2c41d0a7b35e6c8d1f0a2b4c6e8f9012a3b4c5d6e7f8091a2b3c4d5e6f7081',
  ...part,
})

export const toStory = (): AuditLine[] => [
  line({ sequence: 40 }),
  line({
    sequence: 41,
    phase: 'outcome',
    outcome: 'verified',
    time: ago(HOUR - 1400),
    tried: [
      { name: 'prembly', result: 'timeout', ms: 1004 },
      { name: 'dojah', result: 'found', ms: 388 },
    ],
    fields_released: 'all but indigene_info.place_of_origin',
  }),
  line({ sequence: 44, phase: 'replay', outcome: 'verified', time: ago(HOUR / 2) }),
]

export const toAuditPage = (page: number): AuditLine[] =>
  Array.from({ length: 20 }, (_, index) => {
    const sequence = 400 - page * 20 - index
    const at = { sequence, time: ago((page * 20 + index) * 7 * 60 * SECOND) }
    if (index % 7 === 3)
      return line({
        ...at,
        phase: 'key_revoked',
        request_reference: null,
        operation: null,
        outcome: 'ok',
        detail: `${HOSTILE}; by ada`,
      })
    if (index % 2 === 1) return line(at)
    return line({
      ...at,
      phase: 'outcome',
      outcome: index % 5 === 0 ? 'not_verified' : index === 8 ? 'source_unavailable' : 'verified',
    })
  })

const item = (code: string, name: string, price: string, note: string) => ({ code, name, price, note })

export const toCatalogue = (version: number): CatalogueView => ({
  version,
  lists: [
    {
      title: 'internet smile',
      as_of: '2026-10-01',
      items: [item('624', 'SmileVoice ONLY 65', '450', '30 days'), item('625', HOSTILE, '1020', '30 days')],
    },
    {
      title: 'tv DSTV add-ons',
      as_of: '2026-09-12',
      items: [item('HDPVRE36', 'HDPVR/XtraView', '6000', 'COMPE36')],
    },
    { title: 'SME', as_of: '2026-08-30', items: [item('sme_data_500mb', 'SME DATA 500MB', '', '')] },
  ],
  versions: [
    { id: 3, at: ago(DAY), origin: 'sync vtpass', author: 'ada' },
    { id: 2, at: ago(9 * DAY), origin: 'import', author: 'command line' },
    { id: 1, at: null, origin: 'with the program', author: '' },
  ],
  syncs: [{ source: 'vtpass', at: ago(DAY), outcome: 'changed' }],
  can_sync: ['vtpass'],
})

export const CHANGES = [
  {
    change: 'price',
    list: 'internet smile',
    code: '624',
    name: 'SmileVoice ONLY 65',
    price_before: '450',
    price_after: '500',
  },
  {
    change: 'added',
    list: 'SME',
    code: 'sme_data_1gb',
    name: HOSTILE,
    price_before: null,
    price_after: '300',
  },
  {
    change: 'removed',
    list: 'tv DSTV add-ons',
    code: 'OLDE36',
    name: 'Old add-on',
    price_before: '2000',
    price_after: null,
  },
]

export const toSourceList = (disabled: ReadonlySet<string>): SourceList => ({
  nin_order: ['registry', 'dojah', 'prembly'],
  bvn_order: ['registry', 'dojah'],
  sources: toSources(disabled),
  can_check: ['dojah', 'prembly'],
})

export const toRecord = (isClear: boolean): RecordView => ({
  found: true,
  fields: [
    { name: 'nin_number', value: isClear ? '12345678901' : '****' },
    { name: 'personal_info.first_name', value: isClear ? HOSTILE : '****' },
    { name: 'personal_info.last_name', value: isClear ? 'javascript:alert(1)' : '****' },
    { name: 'personal_info.religion', value: '' },
    { name: 'residential_info.address', value: isClear ? '12 Made Up Close' : '****' },
  ],
})

export const SETTINGS: SettingsView = {
  version: '0.1.0',
  node_version: 'v24.21.0',
  started_at: ago(5 * HOUR),
  place: 'sqlite:data/tabbat.db',
  settings: [
    { name: 'TABBAT_PORT', about: 'Port of the API.', is_secret: false, value: '8080', origin: 'default' },
    {
      name: 'TABBAT_DATA_DIR',
      about: 'Folder of the database, the root key and the checkpoints.',
      is_secret: false,
      value: '/var/lib/tabbat',
      origin: 'environment',
    },
    {
      name: 'TABBAT_ROOT_KEY',
      about: 'The root secret, in base64.',
      is_secret: true,
      value: null,
      origin: 'file',
    },
    {
      name: 'TABBAT_DOJAH_KEY',
      about: 'API key of the account.',
      is_secret: true,
      value: null,
      origin: '.env',
    },
    {
      name: 'TABBAT_BAXI_KEY',
      about: 'API key of the account.',
      is_secret: true,
      value: null,
      origin: 'unset',
    },
  ],
  unknown_settings: ['TABBAT_PROT'],
  health: { ready: true, audit: true, workers: 2 },
  root_key: { version: 1, origin: 'file (beside the data)', rotation_under_way: false },
  checkpoints: { last_at: ago(30 * SECOND), folder: '/var/lib/tabbat/checkpoints' },
  warnings: ['The root key lies beside the data: whoever copies the folder has both.'],
}
