import { REQUIRE_MATCH } from '../contract/person-details.ts'
import { type Static, type TSchema, Type } from '../contract/schema.ts'
import { SUBJECTS_PER_DAY } from './api-key.ts'
import { readAddresses, readClientCerts, readCount, readFields, readNote, readOwner } from './key-options.ts'
import type { KeyRow } from './key-rows.ts'

/** One option of a key. The flags, the shapes of the admin API, the view and the audit text follow from it. */
type KeyOption<Name extends keyof KeyRow, Input extends TSchema, View extends TSchema> = {
  /** Its property of a key. */
  readonly property: Name
  /** The value of a key without the option. */
  readonly none: KeyRow[Name]
  /** Of `tabbat keys create`. */
  readonly flag: string
  readonly help: string
  /** Of `tabbat keys change`, with the word that removes the option, or the help of the flag that turns it off. */
  readonly change: { readonly help: string } & ({ readonly word: string } | { readonly off: string })
  /** Of the command line and of texts in the admin API. Absent: on or off, or one of the choices. */
  readonly read?: (text: string, before?: never) => KeyRow[Name]
  readonly choices?: readonly string[]
  /** In the admin API: as it is given, and as it is shown, also in the audit log. */
  readonly input: Input
  readonly view: View
  readonly show: (value: KeyRow[Name]) => Static<View>
}

const defineOption = <Name extends keyof KeyRow, Input extends TSchema, View extends TSchema>(
  option: KeyOption<Name, Input, View>,
) => option

const Texts = Type.Nullable(Type.Array(Type.String()))
const showTexts = (values: readonly string[] | undefined) => (values ? [...values] : null)
export const FieldNames = Type.Array(Type.String({ maxLength: 100 }), { maxItems: 100 })
const RequireMatch = Type.Enum(Object.keys(REQUIRE_MATCH) as (keyof typeof REQUIRE_MATCH)[])

/** By the name of the column, of the field in the admin API, and in the audit log. */
export const KEY_OPTIONS = {
  allowed_ips: defineOption({
    property: 'allowedIps',
    none: undefined,
    flag: '--ip <addresses>',
    help: 'IP addresses or networks it may be used from, separated by commas (default: any)',
    change: { help: 'IP addresses or networks it may be used from, or any', word: 'any' },
    read: readAddresses,
    input: Type.Array(Type.String({ maxLength: 60 }), { maxItems: 50 }),
    view: Texts,
    show: showTexts,
  }),
  /** Fingerprints of TLS client certificates, as sha256:<hex>. */
  client_certs: defineOption({
    property: 'clientCerts',
    none: undefined,
    flag: '--client-cert <fingerprints>',
    help: 'TLS client certificates it may be used with, as sha256:<fingerprint>, separated by commas (default: none is needed)',
    change: { help: 'TLS client certificates it may be used with, or none', word: 'none' },
    read: readClientCerts,
    input: Type.Array(Type.String({ maxLength: 110 }), { maxItems: 8 }),
    view: Texts,
    show: showTexts,
  }),
  hide: defineOption({
    property: 'hide',
    none: [],
    flag: '--hide <fields>',
    help: 'fields to hide in addition to the default ones, such as religion,image_url (with the fields derived from them)',
    change: {
      help: 'fields to hide in addition to the default ones (with the fields derived from them), or none',
      word: 'none',
    },
    read: readFields,
    input: FieldNames,
    view: Type.Array(Type.String()),
    show: (fields) => [...fields],
  }),
  reveal: defineOption({
    property: 'reveal',
    none: [],
    flag: '--reveal <fields>',
    help: 'fields to show that are hidden by default, such as next_of_kin',
    change: { help: 'fields to show that are hidden by default, or none', word: 'none' },
    read: readFields,
    input: FieldNames,
    view: Type.Array(Type.String()),
    show: (fields) => [...fields],
  }),
  subjects_per_day: defineOption({
    property: 'subjectsPerDay',
    none: undefined,
    flag: '--subjects-per-day <number>',
    help: `different people it may verify per day (default: ${SUBJECTS_PER_DAY})`,
    change: { help: 'different people it may verify per day, or default', word: 'default' },
    read: readCount,
    input: Type.Integer({ minimum: 1, maximum: 100_000_000 }),
    view: Type.Integer(),
    show: (count) => count ?? SUBJECTS_PER_DAY,
  }),
  requires_consent: defineOption({
    property: 'requiresConsent',
    none: false,
    flag: '--require-consent',
    help: 'refuse verifications without the header X-Consent-Reference',
    change: {
      help: 'refuse verifications without the header X-Consent-Reference',
      off: 'accept verifications without it',
    },
    input: Type.Boolean(),
    view: Type.Boolean(),
    show: (isOn) => isOn,
  }),
  /** A verification becomes pending when no source can answer. */
  async_when_down: defineOption({
    property: 'asyncWhenDown',
    none: false,
    flag: '--async-when-down',
    help: 'answer 202 (pending) instead of 502, 503 or 504 while no source can answer; see docs/pending.md',
    change: {
      help: 'answer 202 (pending) while no source can answer; see docs/pending.md',
      off: 'answer 502, 503 or 504 while no source can answer',
    },
    input: Type.Boolean(),
    view: Type.Boolean(),
    show: (isOn) => isOn,
  }),
  /** Details that must be given and must match. */
  require_match: defineOption({
    property: 'requireMatch',
    none: undefined,
    flag: '--require-match <details>',
    help: 'details that each verification must give, and that must match: name, dob (date of birth) or both',
    change: { help: 'details that each verification must give, and that must match', word: 'none' },
    choices: Object.keys(REQUIRE_MATCH),
    input: RequireMatch,
    view: Type.Nullable(RequireMatch),
    show: (details) => details ?? null,
  }),
  /** The team that answers for the key. */
  owner: defineOption({
    property: 'owner',
    none: undefined,
    flag: '--owner <text>',
    help: 'the team that answers for the key',
    change: { help: 'the team that answers for the key, or none', word: 'none' },
    read: readOwner,
    input: Type.String({ maxLength: 80 }),
    view: Type.Nullable(Type.String()),
    show: (text) => text ?? null,
  }),
  note: defineOption({
    property: 'note',
    none: undefined,
    flag: '--note <text>',
    help: 'a note of one line',
    change: { help: 'a note of one line, or none', word: 'none' },
    read: readNote,
    input: Type.String({ maxLength: 500 }),
    view: Type.Nullable(Type.String()),
    show: (text) => text ?? null,
  }),
}

type Options = typeof KEY_OPTIONS
export type OptionField = keyof Options
/** The options of a key, by their properties. */
export type OptionValues = Pick<KeyRow, Options[OptionField]['property']>
/** An option whose types are not known, in a loop over all of them. */
export type AnyOption = Omit<KeyOption<keyof OptionValues, TSchema, TSchema>, 'show' | 'read'> & {
  readonly show: (value: unknown) => unknown
  readonly read?: (text: string, before?: unknown) => unknown
}

export const listOptions = () => Object.entries(KEY_OPTIONS) as unknown as [OptionField, AnyOption][]

/** All options: those that are given, and the others as a key without them has them. */
export const withDefaults = (given: Partial<OptionValues>): OptionValues =>
  Object.fromEntries(
    listOptions().map(([, { property, none }]) => [property, given[property] ?? none]),
  ) as OptionValues

export const showOptions = (row: OptionValues) =>
  Object.fromEntries(listOptions().map(([field, { property, show }]) => [field, show(row[property])])) as {
    -readonly [Field in OptionField]: Static<Options[Field]['view']>
  }
