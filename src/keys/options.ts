import type { RequireMatch } from '../contract/person.ts'
import { type Static, type TSchema, Type } from '../contract/schema.ts'
import { readAddresses, readClientCerts, readCount, readFields, readNote, readOwner } from './key-options.ts'

/** Default limit of the people that a key may ask about in a day. */
export const SUBJECTS_PER_DAY = 2000

/** How an option is stored, given and shown. */
type OptionKind<Value, Input extends TSchema, View extends TSchema> = {
  readonly kind: 'list' | 'fields' | 'count' | 'switch' | 'choice' | 'text'
  /** The value of a key without the option. */
  readonly none: Value
  readonly toColumn: (value: Value) => string | number | null
  readonly fromColumn: (stored: unknown) => Value
  /** Of the command line and of texts in the admin API. Absent: on or off, or one of the choices. */
  readonly read?: (text: string, before?: never) => Value
  /** With their texts in the console. */
  readonly choices?: Readonly<Record<string, string>>
  /** Of a number. */
  readonly default?: number
  /** In the admin API: as it is given, and as it is shown, also in the audit log. */
  readonly input: Input
  readonly view: View
  readonly show: (value: Value) => Static<View>
}

/**
 * One option of a key. Its place in the row and in the table, its flags, the shapes of the admin API, the view, the audit text,
 * the field of the console and its documentation follow from this.
 */
type KeyOption<Name extends string, Value, Input extends TSchema, View extends TSchema> = OptionKind<
  Value,
  Input,
  View
> & {
  /** Its property of a key. */
  readonly property: Name
  /** Of `tabbat keys create`. */
  readonly flag: string
  readonly help: string
  /** Of `tabbat keys change`, with the word that removes the option, or the help of the flag that turns it off. */
  readonly change: { readonly help: string } & ({ readonly word: string } | { readonly off: string })
  /** In the console. */
  readonly label: string
  readonly hint?: string
  readonly example?: string
}

const defineKind = <Value, Input extends TSchema, View extends TSchema>(
  kind: OptionKind<Value, Input, View>,
) => kind

const defineOption = <const Name extends string, Value, Input extends TSchema, View extends TSchema>(
  option: KeyOption<Name, Value, Input, View>,
) => option

type Texts = readonly string[] | undefined
type ReadTexts = (text: string, before?: readonly string[]) => string[]

const list = (read: ReadTexts, { maxItems, maxLength }: { maxItems: number; maxLength: number }) =>
  defineKind({
    kind: 'list',
    none: undefined as Texts,
    toColumn: (values) => values?.join(',') ?? null,
    fromColumn: (stored) => (typeof stored === 'string' ? stored.split(',') : undefined),
    read,
    input: Type.Array(Type.String({ maxLength }), { maxItems }),
    view: Type.Nullable(Type.Array(Type.String())),
    show: (values) => (values ? [...values] : null),
  })

export const FieldNames = Type.Array(Type.String({ maxLength: 100 }), { maxItems: 100 })

/** Dotted names of fields of the records, or of groups. */
const fields = defineKind({
  kind: 'fields',
  none: [] as readonly string[],
  toColumn: (names) => names.join(',') || null,
  fromColumn: (stored) => (typeof stored === 'string' ? stored.split(',') : []),
  read: readFields,
  input: FieldNames,
  view: Type.Array(Type.String()),
  show: (names) => [...names],
})

const count = (byDefault: number) =>
  defineKind({
    kind: 'count',
    none: undefined as number | undefined,
    toColumn: (value) => value ?? null,
    fromColumn: (stored) => (stored === null ? undefined : Number(stored)),
    read: readCount,
    default: byDefault,
    input: Type.Integer({ minimum: 1, maximum: 100_000_000 }),
    view: Type.Integer(),
    show: (value) => value ?? byDefault,
  })

const onOff = defineKind({
  kind: 'switch',
  none: false as boolean,
  toColumn: (isOn) => (isOn ? 1 : 0),
  fromColumn: (stored) => Number(stored) === 1,
  input: Type.Boolean(),
  view: Type.Boolean(),
  show: (isOn) => isOn,
})

function choice<Name extends string>(choices: Readonly<Record<Name, string>>) {
  const input = Type.Enum(Object.keys(choices) as Name[])
  return defineKind({
    kind: 'choice',
    none: undefined as Name | undefined,
    toColumn: (name) => name ?? null,
    fromColumn: (stored) => (stored === null ? undefined : (stored as Name)),
    choices,
    input,
    view: Type.Nullable(input),
    show: (name) => name ?? null,
  })
}

/** Describes the key, and decides nothing. */
const text = (read: (given: string) => string, maxLength: number) =>
  defineKind({
    kind: 'text',
    none: undefined as string | undefined,
    toColumn: (value) => value ?? null,
    fromColumn: (stored) => (stored === null ? undefined : String(stored)),
    read,
    input: Type.String({ maxLength }),
    view: Type.Nullable(Type.String()),
    show: (value) => value ?? null,
  })

const REQUIRE_MATCH_TEXTS: Readonly<Record<RequireMatch, string>> = {
  name: 'Name',
  dob: 'Date of birth',
  both: 'Name and date of birth',
}

/** By the name of the column, of the field in the admin API, and in the audit log. */
export const KEY_OPTIONS = {
  allowed_ips: defineOption({
    ...list(readAddresses, { maxItems: 50, maxLength: 60 }),
    property: 'allowedIps',
    flag: '--ip <addresses>',
    help: 'IP addresses or networks it may be used from, separated by commas (default: any)',
    change: { help: 'IP addresses or networks it may be used from, or any', word: 'any' },
    label: 'Allowed IP addresses',
    hint: 'Separated by spaces or commas. Empty: any address.',
    example: '203.0.113.7, 10.0.0.0/8',
  }),
  /** Fingerprints of TLS client certificates, as sha256:<hex>. */
  client_certs: defineOption({
    ...list(readClientCerts, { maxItems: 8, maxLength: 110 }),
    property: 'clientCerts',
    flag: '--client-cert <fingerprints>',
    help: 'TLS client certificates it may be used with, as sha256:<fingerprint>, separated by commas (default: none is needed)',
    change: { help: 'TLS client certificates it may be used with, or none', word: 'none' },
    label: 'TLS client certificates',
    hint: 'SHA-256 fingerprints, separated by spaces or commas. Empty: none is needed.',
    example: 'sha256:3f9a…',
  }),
  hide: defineOption({
    ...fields,
    property: 'hide',
    flag: '--hide <fields>',
    help: 'fields to hide in addition to the default ones, such as religion,image_url (with the fields derived from them)',
    change: {
      help: 'fields to hide in addition to the default ones (with the fields derived from them), or none',
      word: 'none',
    },
    label: 'Also hidden',
  }),
  reveal: defineOption({
    ...fields,
    property: 'reveal',
    flag: '--reveal <fields>',
    help: 'fields to show that are hidden by default, such as next_of_kin',
    change: { help: 'fields to show that are hidden by default, or none', word: 'none' },
    label: 'Revealed',
  }),
  subjects_per_day: defineOption({
    ...count(SUBJECTS_PER_DAY),
    property: 'subjectsPerDay',
    flag: '--subjects-per-day <number>',
    help: `different people it may verify per day (default: ${SUBJECTS_PER_DAY})`,
    change: { help: 'different people it may verify per day, or default', word: 'default' },
    label: 'Distinct people per day, at most',
  }),
  requires_consent: defineOption({
    ...onOff,
    property: 'requiresConsent',
    flag: '--require-consent',
    help: 'refuse verifications without the header X-Consent-Reference',
    change: {
      help: 'refuse verifications without the header X-Consent-Reference',
      off: 'accept verifications without it',
    },
    label: 'Require a consent reference',
  }),
  async_when_down: defineOption({
    ...onOff,
    property: 'asyncWhenDown',
    flag: '--async-when-down',
    help: 'answer 202 (pending) instead of 502, 503 or 504 while no source can answer; see docs/pending.md',
    change: {
      help: 'answer 202 (pending) while no source can answer; see docs/pending.md',
      off: 'answer 502, 503 or 504 while no source can answer',
    },
    label: 'Answer 202 (pending) while no source can answer',
  }),
  require_match: defineOption({
    ...choice(REQUIRE_MATCH_TEXTS),
    property: 'requireMatch',
    flag: '--require-match <details>',
    help: 'details that each verification must give, and that must match: name, dob (date of birth) or both',
    change: { help: 'details that each verification must give, and that must match', word: 'none' },
    label: 'Details that must match',
    hint: 'Each verification must give them. A person whose details differ is not verified.',
  }),
  owner: defineOption({
    ...text(readOwner, 80),
    property: 'owner',
    flag: '--owner <text>',
    help: 'the team that answers for the key',
    change: { help: 'the team that answers for the key, or none', word: 'none' },
    label: 'Owner',
    hint: 'The team that answers for the key.',
    example: 'Payments team',
  }),
  note: defineOption({
    ...text(readNote, 500),
    property: 'note',
    flag: '--note <text>',
    help: 'a note of one line',
    change: { help: 'a note of one line, or none', word: 'none' },
    label: 'Note',
  }),
}

type Options = typeof KEY_OPTIONS
export type OptionField = keyof Options
/** The options of a key, by their properties. */
export type OptionValues = {
  readonly [Field in OptionField as Options[Field]['property']]: Options[Field]['none']
}
/** An option whose types are not known, in a loop over all of them. */
export type AnyOption = Omit<
  KeyOption<keyof OptionValues, unknown, TSchema, TSchema>,
  'show' | 'read' | 'toColumn'
> & {
  readonly show: (value: unknown) => unknown
  readonly read?: (text: string, before?: unknown) => unknown
  readonly toColumn: (value: unknown) => string | number | null
}

export const listOptions = () => Object.entries(KEY_OPTIONS) as unknown as [OptionField, AnyOption][]

/** The value of each option, by its property. */
const mapOptions = (toValue: (option: AnyOption, field: OptionField) => unknown) =>
  Object.fromEntries(
    listOptions().map(([field, option]) => [option.property, toValue(option, field)]),
  ) as OptionValues

/** All options: those that are given, and the others as a key without them has them. */
export const withDefaults = (given: Partial<OptionValues>): OptionValues =>
  mapOptions(({ property, none }) => given[property] ?? none)

/** From the columns of a row. */
export const readOptions = (row: Readonly<Record<string, unknown>>): OptionValues =>
  mapOptions(({ fromColumn }, field) => fromColumn(row[field]))

export const showOptions = (row: OptionValues) =>
  Object.fromEntries(listOptions().map(([field, { property, show }]) => [field, show(row[property])])) as {
    -readonly [Field in OptionField]: Static<Options[Field]['view']>
  }
