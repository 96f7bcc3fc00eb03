import { EVENT_TYPES, type EventType, KEY_EVENTS } from '../contract/event.ts'
import { holdsPersonNumber, PERSON_NUMBER_RULE } from '../contract/free-text.ts'
import { UserError } from '../errors.ts'
import type { KeyRow } from '../keys/key-rows.ts'
import { isPrivateAddress } from '../sources/public-address.ts'

export type EndpointRequest = {
  readonly name: string
  readonly url: string
  readonly events: readonly string[]
  /** Ids of API keys. Empty: the endpoint belongs to the operator. */
  readonly keys: readonly string[]
}

type EndpointOptions = {
  readonly name: string
  readonly url: string
  readonly events: readonly EventType[]
  readonly lineages: readonly string[]
}

const MAX_URL = 2000
const MAX_KEYS = 50

/** Refuses bad input with a sentence that says what to give instead. */
export function readEndpointOptions(
  request: EndpointRequest,
  keys: readonly Pick<KeyRow, 'id' | 'lineage'>[],
  allowPrivate: boolean,
): EndpointOptions {
  const lineages = readLineages(request.keys, keys)
  return {
    name: readEndpointName(request.name),
    url: readUrl(request.url, allowPrivate),
    events: readEvents(request.events, lineages.length > 0),
    lineages,
  }
}

function readEndpointName(text: string): string {
  const name = text.trim()
  if (!/^[^\p{Cc}]{1,80}$/u.test(name)) throw new UserError('Give a name of 1 to 80 characters.')
  if (holdsPersonNumber(name)) throw new UserError(`The name ${PERSON_NUMBER_RULE}.`)
  return name
}

/** The address is never repeated in a message: it may hold a token. */
function readUrl(text: string, allowPrivate: boolean): string {
  const url = URL.canParse(text.trim()) ? new URL(text.trim()) : undefined
  if (!url || !/^https?:$/.test(url.protocol) || text.length > MAX_URL)
    throw new UserError('Give an address such as https://shop.example.com/webhooks.')
  if (url.username || url.password || url.hash)
    throw new UserError('Give an address without a user, a password and a #fragment.')
  if (url.protocol === 'http:' && !allowPrivate)
    throw new UserError(
      'Give an https address. Plain http is allowed only with TABBAT_WEBHOOKS_PRIVATE=on, for receivers in your own network.',
    )
  if (isPrivateAddress(url.hostname) && !allowPrivate)
    throw new UserError(
      'The address is private, loopback or link-local. If that is intended, set TABBAT_WEBHOOKS_PRIVATE=on.',
    )
  return url.href
}

function readEvents(given: readonly string[], isOfKeys: boolean): EventType[] {
  const known: readonly string[] = isOfKeys ? KEY_EVENTS : EVENT_TYPES
  const events = [...new Set(given)]
  if (events.length > 0 && events.every((event) => known.includes(event))) return events as EventType[]
  throw new UserError(
    isOfKeys
      ? `The events of an endpoint with keys are ${KEY_EVENTS.join(', ')}. Others go to endpoints without keys.`
      : `The events are ${EVENT_TYPES.join(', ')}.`,
  )
}

/** A key may be rolled: the endpoint belongs to its lineage. */
function readLineages(ids: readonly string[], keys: readonly Pick<KeyRow, 'id' | 'lineage'>[]): string[] {
  if (ids.length > MAX_KEYS) throw new UserError(`Give at most ${MAX_KEYS} keys.`)
  const lineages = ids.map((id) => {
    const key = keys.find((each) => each.id === id)
    if (!key) throw new UserError('One of the keys does not exist. See: tabbat keys list')
    return key.lineage
  })
  return [...new Set(lineages)]
}
