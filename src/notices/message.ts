import { createHash } from 'node:crypto'
import { HOUR_MS, MINUTE_MS } from '../contract/time.ts'
import { NOT_KNOWN, type NoticeKind } from './incident-rules.ts'
import type { DueNotice, Incident } from './incident-table.ts'

/** What a channel sends: plain text, nothing personal. */
export type Message = {
  /** The same for the same notices: a repeated e-mail can be recognised by it. */
  readonly id: string
  readonly title: string
  /** Paragraphs, each of one or more lines. */
  readonly paragraphs: readonly (readonly string[])[]
  readonly link: string | undefined
}

type MessageOptions = { readonly zone: string; readonly consoleUrl: string | undefined }

/** More are counted. A chat refuses long messages, and nobody reads them. */
const MAX_SHOWN = 20

/** One message for all notices that are due. An incident that began and ended meanwhile is one paragraph. */
export function toMessage(due: readonly DueNotice[], { zone, consoleUrl }: MessageOptions): Message {
  const told = [...Map.groupBy(due, ({ incident }) => incident.id).values()].map(toTold)
  // What is critical is read first, and what has ended last.
  const sorted = told.toSorted((one, other) => toOrder(one) - toOrder(other))
  const paragraphs = sorted.slice(0, MAX_SHOWN).map((each) => toParagraph(each, zone))
  const more = sorted.length - MAX_SHOWN
  return {
    id: createHash('sha256')
      .update(JSON.stringify(due.map(({ kind, incident }) => [incident.id, kind])))
      .digest('hex')
      .slice(0, 32),
    title: toTitle(sorted),
    paragraphs:
      more > 0 ? [...paragraphs, [`And ${more} more: see the page Incidents of the console.`]] : paragraphs,
    link: toLink(consoleUrl),
  }
}

/** To see whether a channel works. */
export const toTestMessage = (node: string, consoleUrl: string | undefined): Message => ({
  id: createHash('sha256').update(`test ${Date.now()}`).digest('hex').slice(0, 32),
  title: 'Test of the notices',
  paragraphs: [[`This is a test, sent by node ${node}. Nothing is wrong: this channel works.`]],
  link: toLink(consoleUrl),
})

const toLink = (consoleUrl: string | undefined) => consoleUrl && `${consoleUrl}/console#/incidents`

/** `isOver`: it has ended, or its node is gone (`isUnknown`). `isNew`: its beginning is told with this message. */
type Told = {
  readonly incident: Incident
  readonly isCritical: boolean
  readonly isOver: boolean
  readonly isUnknown: boolean
  readonly isNew: boolean
  readonly isWorse: boolean
}

function toTold(notices: readonly DueNotice[]): Told {
  const has = (kind: NoticeKind) => notices.some((notice) => notice.kind === kind)
  // The newest knows the end.
  const { incident } = notices.at(-1) as DueNotice
  return {
    incident,
    isCritical: notices.some(({ level }) => level === 'critical'),
    isOver: has('ended'),
    isUnknown: has('ended') && incident.text.startsWith(NOT_KNOWN),
    isNew: has('began'),
    isWorse: has('worse') && !has('began'),
  }
}

const toOrder = ({ isCritical, isOver }: Told) => (isOver ? 2 : isCritical ? 0 : 1)

function toWord({ isCritical, isOver, isUnknown, isWorse }: Told): string {
  if (isOver) return isUnknown ? 'No longer known' : 'Ended'
  return isWorse ? 'Critical now' : isCritical ? 'Critical' : 'Warning'
}

const toPlace = ({ name, scope }: Incident) => (scope === '' ? name : `${name} (node ${scope})`)

function toTitle(told: readonly Told[]): string {
  const [first] = told
  if (told.length === 1 && first) return `${toWord(first)}: ${toPlace(first.incident)}`
  const counts = Object.entries(Object.groupBy(told, toWord)).map(
    ([word, list]) => `${list?.length} ${word.toLowerCase()}`,
  )
  return `${told.length} notices: ${counts.join(', ')}`
}

function toParagraph(told: Told, zone: string): string[] {
  const { incident, isOver, isUnknown, isNew } = told
  const { beganAt, endedAt = beganAt, text } = incident
  const head = `${toWord(told)}: ${toPlace(incident)}`
  if (!isOver) return [head, text, `Since ${toTime(beganAt, zone)}.`]
  if (isUnknown) return [head, text, `Since ${toTime(beganAt, zone)}, seen until ${toTime(endedAt, zone)}.`]
  const lasted = `It lasted ${toDuration(endedAt - beganAt)}, from ${toTime(beganAt, zone)} to ${toTime(endedAt, zone)}.`
  return isNew ? [head, text, lasted] : [head, lasted]
}

/** 17 Nov 2026, 18:02 (Africa/Lagos) */
const toTime = (at: number, zone: string) =>
  `${new Intl.DateTimeFormat('en-GB', { timeZone: zone, dateStyle: 'medium', timeStyle: 'short' }).format(at)} (${zone})`

/** 3 days 4 hours, 2 hours 5 minutes, 40 seconds */
export function toDuration(ms: number): string {
  const [days, hours, minutes] = [
    Math.floor(ms / (24 * HOUR_MS)),
    Math.floor(ms / HOUR_MS) % 24,
    Math.floor(ms / MINUTE_MS) % 60,
  ]
  const parts =
    days > 0
      ? [toCount(days, 'day'), toCount(hours, 'hour')]
      : [toCount(hours, 'hour'), toCount(minutes, 'minute')]
  return parts.filter((part) => !part.startsWith('0 ')).join(' ') || toCount(Math.floor(ms / 1000), 'second')
}

const toCount = (count: number, what: string) => `${count} ${what}${count === 1 ? '' : 's'}`

/** The lines of an e-mail or of a chat. */
export const toLines = ({ paragraphs, link }: Message): string =>
  [...paragraphs.map((lines) => lines.join('\n')), ...(link === undefined ? [] : [link])].join('\n\n')
