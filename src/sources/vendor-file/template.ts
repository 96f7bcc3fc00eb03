import { createHmac, randomUUID } from 'node:crypto'
import { type PersonDetails, toLocalPhone } from '../../contract/person.ts'
import { readDay, toHyphenatedDay, toIsoDay, toNumericDay } from '../../contract/time.ts'
import type { HttpRequest } from '../source.ts'
import type { VendorFile, VendorRequest } from './schema.ts'

/** What one request to a vendor is made of. */
export type Question = {
  readonly number: string
  /** The ten-digit core. */
  readonly phone: string
  readonly details?: PersonDetails | undefined
  readonly reference: string
  /** See `createCallId`. */
  readonly callId: string
  readonly at: Date
}

/** Another one for each call, also for those of one verification: some vendors refuse an id that they have seen. */
export const createCallId = (): string => randomUUID().replaceAll('-', '')

export type SettingValues = Readonly<Record<string, unknown>>
type Value = (question: Question) => unknown

/** A number must not be read as a date of another day. */
const toDay = (spell: (day: NonNullable<ReturnType<typeof readDay>>) => string) => (question: Question) => {
  const day = question.details?.date_of_birth && readDay(question.details.date_of_birth)
  return day ? spell(day) : undefined
}

/** The values that a template may have besides the settings: the whole list. */
export const VALUES: Readonly<Record<string, Value>> = {
  number: ({ number }) => number,
  phone: ({ phone }) => toLocalPhone(phone),
  phone_234: ({ phone }) => `234${phone}`,
  first_name: ({ details }) => details?.first_name,
  last_name: ({ details }) => details?.last_name,
  full_name: ({ details }) =>
    details?.first_name && details.last_name ? `${details.first_name} ${details.last_name}` : undefined,
  date_of_birth: toDay(toIsoDay),
  date_of_birth_numeric: toDay(toNumericDay),
  date_of_birth_short: toDay(toHyphenatedDay),
  reference: ({ reference }) => reference,
  call_id: ({ callId }) => callId,
  time: ({ at }) => at.toISOString(),
  time_ms: ({ at }) => at.getTime(),
}

const PLACEHOLDER = /\{([a-z][a-z0-9_]*)\}/g

/** The names of the values in a text. */
export const listPlaceholders = (text: string): string[] =>
  [...text.matchAll(PLACEHOLDER)].map(([, name = '']) => name)

/** A text that is one value keeps its type. A text is missing if one of its values is. */
function compileText(
  text: string,
  settings: SettingValues,
  more: Readonly<Record<string, Value>> = {},
): Value {
  const toValue = (name: string): Value => {
    const value = more[name] ?? VALUES[name]
    if (value) return value
    const constant = settings[name] === 'off' ? undefined : settings[name] === 'on' ? true : settings[name]
    return () => constant
  }
  const names = listPlaceholders(text)
  if (names.length === 1 && text === `{${names[0]}}`) return toValue(names[0] as string)
  if (names.length === 0) return () => text
  const literals = text.split(/\{[a-z][a-z0-9_]*\}/)
  const values = names.map(toValue)
  return (question) => {
    let written = literals[0] as string
    for (const [index, value] of values.entries()) {
      const part = value(question)
      if (part === undefined) return undefined
      written += `${part}${literals[index + 1]}`
    }
    return written
  }
}

/** A path of the settings may have {number} in it. Everything but such a path is encoded. */
function compilePath(
  text: string,
  settings: SettingValues,
  more: Readonly<Record<string, Value>>,
): (question: Question) => string {
  const expanded = text.replace(PLACEHOLDER, (whole, name: string) => {
    const value = settings[name]
    return typeof value === 'string' && value.startsWith('/') ? value : whole
  })
  const literals = expanded.split(/\{[a-z][a-z0-9_]*\}/)
  const values = listPlaceholders(expanded).map((name) => compileText(`{${name}}`, settings, more))
  return (question) =>
    literals.reduce((path, literal, index) => {
      const value = values[index - 1]?.(question) ?? ''
      return `${path}${encodeURIComponent(String(value))}${literal}`
    })
}

type Entry = readonly [name: (question: Question) => string, value: Value]

/** Members whose value is missing are left out. */
function compileMembers(
  members: Readonly<Record<string, unknown>>,
  compile: (value: unknown) => Value,
  settings: SettingValues,
): (question: Question) => Record<string, unknown> {
  const entries = Object.entries(members).map(([name, value]): Entry => {
    const toName = compileText(name, settings)
    return [(question) => String(toName(question)), compile(value)]
  })
  return (question) => {
    const made: Record<string, unknown> = {}
    for (const [toName, toValue] of entries) {
      const value = toValue(question)
      if (value !== undefined) made[toName(question)] = value
    }
    return made
  }
}

/** Whether no value of the body depends on the question is not looked at: bodies are small. */
function compileBody(
  body: unknown,
  settings: SettingValues,
  more: Readonly<Record<string, Value>> = {},
): Value {
  if (typeof body === 'string') return compileText(body, settings, more)
  if (Array.isArray(body)) {
    const items = body.map((item) => compileBody(item, settings, more))
    return (question) => items.map((item) => item(question)).filter((value) => value !== undefined)
  }
  if (typeof body === 'object' && body !== null)
    return compileMembers(
      body as Record<string, unknown>,
      (value) => compileBody(value, settings, more),
      settings,
    )
  return () => body
}

type Authentication = NonNullable<VendorFile['authentication']>

/** Builds a request to the vendor, with its headers and its signature. */
export function compileRequest(
  { method, path, query, headers, body }: VendorRequest,
  settings: SettingValues,
  authentication: Authentication = {},
): (question: Question) => HttpRequest {
  const more = authentication.hmac ? { signature: compileSignature(authentication.hmac, settings) } : {}
  const compile = (value: unknown) => compileBody(value, settings, more)
  const toPath = compilePath(path, settings, more)
  const toQuery = query && compileMembers(query, compile, settings)
  const basic = authentication.basic && { authorization: compileBasic(authentication.basic, settings) }
  const toHeaders = compileMembers({ ...authentication.headers, ...headers }, compile, settings)
  const toBody = body === undefined ? undefined : compile(body)
  return (question) => ({
    method,
    path: toPath(question),
    ...(toQuery && { query: toTexts(toQuery(question)) }),
    headers: { ...basic, ...toTexts(toHeaders(question)) },
    ...(toBody && { body: toBody(question) }),
  })
}

const toTexts = (values: Record<string, unknown>) => {
  for (const [name, value] of Object.entries(values)) values[name] = String(value)
  return values as Record<string, string>
}

function compileSignature(hmac: NonNullable<Authentication['hmac']>, settings: SettingValues): Value {
  const { algorithm, encoding } = hmac
  const toKey = compileText(hmac.key, settings)
  const parts = hmac.over.map((part) => compileText(part, settings))
  return (question) => {
    const signature = createHmac(algorithm, String(toKey(question)))
    for (const part of parts) signature.update(String(part(question) ?? ''))
    return signature.digest(encoding)
  }
}

/** Its parts are settings: a person has none of them. */
function compileBasic(
  { user, password }: NonNullable<Authentication['basic']>,
  settings: SettingValues,
): string {
  const fill = (text: string) => String(compileText(text, settings)(NO_QUESTION) ?? '')
  return `Basic ${Buffer.from(`${fill(user)}:${fill(password)}`).toString('base64')}`
}

/** For requests that are about no person, such as that for a token. */
export const NO_QUESTION: Question = { number: '', phone: '', reference: '', callId: '', at: new Date(0) }
