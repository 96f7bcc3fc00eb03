import { randomBytes } from 'node:crypto'

/** Events about the requests of an API key. */
export const KEY_EVENTS = ['verification.completed', 'verification.expired', 'batch.completed'] as const

/** A new checkpoint of the audit log, whole: `tabbat audit verify` compares the log with those that were received. */
export const CHECKPOINT_EVENT = 'audit.checkpoint'

/** Events about the service, for the operator. */
export const OPERATOR_EVENTS = [
  'source.down',
  'source.up',
  'spend.near_cap',
  'audit.unavailable',
  CHECKPOINT_EVENT,
  'catalogue.changed',
] as const

export const EVENT_TYPES = [...KEY_EVENTS, ...OPERATOR_EVENTS] as const
export type EventType = (typeof EVENT_TYPES)[number]

/** Sent by hand, to try an endpoint. */
export const TEST_EVENT = 'webhook.test'

export type EventData = Readonly<Record<string, string | number | boolean | null>>

/** Something that endpoints of webhooks are told. It never holds personal data. */
export type NewEvent = {
  /** The webhook-id: receivers recognise a repeated delivery by it. */
  readonly id: string
  readonly type: EventType | typeof TEST_EVENT
  /** Wall time. */
  readonly at: number
  /** The API key that asked, or any key of its lineage; empty for an event of the operator. */
  readonly keyId: string
  /** The verification, the batch or the source. Events of one reference are delivered in order. */
  readonly reference: string
  readonly data: EventData
}

/** Gives the event its id, which sorts by time. */
export const createEvent = (event: Omit<NewEvent, 'id'>): NewEvent => ({
  ...event,
  id: `evt_${event.at.toString(36).padStart(9, '0')}${randomBytes(12).toString('hex')}`,
})

/** The body of a webhook. */
export const toEventBody = ({ type, at, data }: NewEvent): string =>
  JSON.stringify({ type, timestamp: new Date(at).toISOString(), data })
