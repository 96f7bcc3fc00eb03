import { KEY_EVENTS, OPERATOR_EVENTS } from '../contract/event.ts'
import { EXAMPLE_REFERENCE } from './openapi-failures.ts'

type Json = Record<string, unknown>

const WHEN: Readonly<Record<(typeof KEY_EVENTS)[number] | (typeof OPERATOR_EVENTS)[number], string>> = {
  'verification.completed': 'A pending verification has its answer.',
  'verification.expired': 'A pending verification got no answer in time.',
  'batch.completed': 'A batch has ended.',
  'source.down': 'A vendor cannot be used.',
  'source.up': 'A vendor can be used again.',
  'spend.near_cap': 'The spend of a vendor is near its daily cap.',
  'audit.unavailable': 'A process cannot write the audit log.',
  'audit.checkpoint': 'A checkpoint of the audit log was signed.',
  'catalogue.changed': 'The catalogue has a new version.',
}

const header = (name: string, description: string, example: string) => ({
  ...{ name, in: 'header', required: true, description, example },
  schema: { type: 'string' },
})

const PARAMETERS = [
  header('webhook-id', 'The same for every attempt of an event.', 'evt_0mwik6bcs84cf80031b800d749e4d51a9'),
  header('webhook-timestamp', 'When it was sent, in Unix time.', '1794790862'),
  header(
    'webhook-signature',
    'HMAC-SHA-256 over `id.timestamp.body`; two of them after a roll.',
    'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
  ),
]

/** The body of a webhook. It never holds personal data. */
export const WEBHOOK_SCHEMA: Json = {
  type: 'object',
  required: ['type', 'timestamp', 'data'],
  properties: {
    type: { type: 'string', enum: [...KEY_EVENTS, ...OPERATOR_EVENTS, 'webhook.test'] },
    timestamp: { type: 'string', format: 'date-time' },
    data: {
      type: 'object',
      required: ['reference', 'status'],
      properties: {
        reference: {
          type: 'string',
          description: 'The verification, the batch, or what the event is about.',
        },
        status: { type: 'string' },
      },
      additionalProperties: { type: ['string', 'number', 'boolean', 'null'] },
    },
  },
  examples: [
    {
      type: 'verification.completed',
      timestamp: '2026-11-16T01:01:02.345Z',
      data: {
        reference: EXAMPLE_REFERENCE,
        status: 'VERIFIED',
        operation: 'verify_nin',
        mode: 'live',
      },
    },
  ],
}

/** The events that Tabbat sends, as `webhooks` of OpenAPI 3.1. */
export const toWebhooks = (): Json =>
  Object.fromEntries(
    Object.entries(WHEN).map(([event, summary]) => [
      event,
      {
        post: {
          operationId: `on${event.replaceAll(/(?:^|[._])([a-z])/g, (_found, letter: string) => letter.toUpperCase())}`,
          tags: ['Webhooks'],
          summary,
          description: 'Sent to endpoints that want it, signed as Standard Webhooks specifies.',
          security: [],
          parameters: PARAMETERS,
          requestBody: {
            required: true,
            content: { 'application/json': { schema: { $ref: '#/components/schemas/Event' } } },
          },
          responses: {
            '2XX': { description: 'The event was received.' },
            '4XX': { description: 'It is sent again later. After 410, the endpoint is disabled.' },
          },
        },
      },
    ]),
  )
